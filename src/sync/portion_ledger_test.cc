#include "sync/portion_ledger.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(PortionLedger, GivesEachPortionOutBeforeAnyBackup) {
  PortionLedger ledger(3);
  EXPECT_EQ(ledger.take(0), 0);
  EXPECT_EQ(ledger.take(1), 1);
  ledger.finish(0, 0, 1.0);
  EXPECT_EQ(ledger.take(0), 2);
  EXPECT_EQ(ledger.backups(), 0);
}

TEST(PortionLedger, BacksUpWhatIsUnderWay) {
  PortionLedger ledger(2);
  ledger.take(0);
  ledger.take(1);
  ledger.finish(1, 1, 1.0);
  EXPECT_EQ(ledger.take(1), 0);
  EXPECT_EQ(ledger.backups(), 1);
  EXPECT_EQ(ledger.take(1), std::nullopt);  // It computes that already.
  ledger.finish(1, 0, 2.0);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(ledger.take(2), std::nullopt);
}

TEST(PortionLedger, CountsTheFirstResultAlone) {
  PortionLedger ledger(1);
  ledger.take(0);
  ledger.take(1);
  ledger.finish(1, 0, 2.0);
  ledger.finish(0, 0, 5.0);
  EXPECT_EQ(ledger.total(), 2.0);
}

TEST(PortionLedger, GivesOutAgainWhatALostWorkerHad) {
  PortionLedger ledger(2);
  ledger.take(0);
  ledger.take(1);
  ledger.release(0);
  EXPECT_EQ(ledger.take(2), 0);
  EXPECT_EQ(ledger.backups(), 0);
}

TEST(PortionLedger, HasFewCopiesOfAPortion) {
  PortionLedger ledger(1);
  for (int worker = 0; worker < 5; ++worker) {
    EXPECT_EQ(ledger.take(worker).has_value(), worker < static_cast<int>(PortionLedger::kMaxHolders));
  }
}

}  // namespace
}  // namespace hocket
