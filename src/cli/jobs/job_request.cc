#include "cli/jobs/job_request.h"

#include <pwd.h>
#include <unistd.h>

#include "base/error.h"

namespace hocket {
namespace {

void check_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const std::string_view own : {"--workers", "--resume", "--out"}) {
      if (word == own || word.starts_with(std::string(own) + "="))
        throw ConfigError("jobs submit: {} is the scheduler's to give; leave it out after --{}", own,
                          own == "--workers" ? " and give it before" : "");
    }
  }
}

}  // namespace

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? std::to_string(::getuid()) : user->pw_name;
}

std::pair<int, int> workers_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto low = parse_integer(text.substr(0, colon));
  const auto high = colon == std::string::npos ? low : parse_integer(text.substr(colon + 1));
  if (!low || !high || *low < 1 || *high < *low || *high > (1 << 16))
    throw ConfigError("jobs submit: --workers {}: expected N or MIN:MAX, as in 1:4", text);
  return {static_cast<int>(*low), static_cast<int>(*high)};
}

std::vector<std::string> train_words(const Arguments& arguments) {
  std::vector<std::string> words(arguments.words().begin() + 1, arguments.words().end());
  if (words.empty())
    throw ConfigError("jobs submit: what? Put the options of hocket train after --, as in: -- --model lenet");
  if (words.front() == "train") words.erase(words.begin());
  check_words(words);
  return words;
}

JobId job_of(const Arguments& arguments) {
  const std::string& verb = arguments.words().front();
  if (arguments.words().size() < 2) throw ConfigError("jobs {}: which job? Give its number", verb);
  const auto id = parse_integer(arguments.words()[1]);
  if (!id) throw ConfigError("jobs {}: {} is not the number of a job", verb, arguments.words()[1]);
  return *id;
}

}  // namespace hocket
