#pragma once

#include <memory>

#include "ps/consistency.h"
#include "sync/discipline.h"

// The rules of the disciplines at the servers, one a file.
namespace hocket {

std::unique_ptr<Consistency> make_bsp(int workers);
// `weight` is that of a slice's share of the mean over the batch: 1 where P workers together move the
// parameters as far as one step of all of them.
std::unique_ptr<Consistency> make_ssp(int workers, std::int64_t staleness, double weight);
std::unique_ptr<Consistency> make_asp(double weight);
std::unique_ptr<Consistency> make_kofn(int workers, int quorum, Discipline::Late late);
std::unique_ptr<Consistency> make_softsync(int workers, int splits, Discipline::Rate rate);

}  // namespace hocket
