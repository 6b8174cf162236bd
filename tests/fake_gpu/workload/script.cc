// SPDX-License-Identifier: Apache-2.0
#include "workload/script.h"

#include <cstdio>
#include <cstdlib>

namespace fakegpu {
namespace {

struct Token {
  int line;
  std::string text;
  bool quoted = false;
};

[[noreturn]] void Refuse(int line, const std::string& why) {
  std::fprintf(stderr, "fake_workload: line %d: %s\n", line, why.c_str());
  std::exit(2);
}

std::vector<Token> Tokens(const std::string& text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n' || c == ';') {
      tokens.push_back({line, ";"});
      line += c == '\n';
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (c == '{' || c == '}') {
      tokens.push_back({line, std::string(1, c)});
      ++i;
    } else if (c == '"') {
      std::string word;
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '"') ++i;
        word.push_back(text[i]);
      }
      if (i == text.size()) Refuse(line, "no closing quote");
      tokens.push_back({line, word, true});
      ++i;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r\n;{}", i), text.size());
      tokens.push_back({line, text.substr(i, end - i)});
      i = end;
    }
  }
  tokens.push_back({line, ";"});
  return tokens;
}

std::vector<Step> Parse(const std::vector<Token>& tokens, size_t* at, bool inside) {
  std::vector<Step> steps;
  Step step;
  auto finish = [&] {
    if (!step.words.empty()) steps.push_back(std::move(step));
    step = {};
  };
  for (; *at < tokens.size(); ++*at) {
    const Token& token = tokens[*at];
    if (token.quoted) {
      step.words.push_back(token.text);
    } else if (token.text == ";") {
      finish();
    } else if (token.text == "{") {
      if (step.words.empty()) Refuse(token.line, "a block of nothing");
      ++*at;
      step.body = Parse(tokens, at, true);
      finish();
    } else if (token.text == "}") {
      finish();
      if (!inside) Refuse(token.line, "} without {");
      return steps;
    } else {
      if (step.words.empty()) step.line = token.line;
      step.words.push_back(token.text);
    }
  }
  finish();
  if (inside) Refuse(tokens.back().line, "{ without }");
  return steps;
}

}  // namespace

std::vector<Step> ParseScript(const std::string& text) {
  const std::vector<Token> tokens = Tokens(text);
  size_t at = 0;
  return Parse(tokens, &at, false);
}

}  // namespace fakegpu
