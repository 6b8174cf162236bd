// SPDX-License-Identifier: Apache-2.0
#include "model/user_code.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::model {
namespace {

constexpr FileKind kUser = FileKind::kUser;
constexpr FileKind kPackage = FileKind::kPackage;
constexpr FileKind kMachinery = FileKind::kMachinery;

TEST(UserCode, FoldersOfInstallersArePackages) {
  const UserCode code;
  for (const std::string_view file :
       {"/home/me/.venv/lib/python3.11/site-packages/mylib/model.py",
        "/usr/lib/python3/dist-packages/mylib/model.py", "C:\\env\\Lib\\site-packages\\mylib\\a.py",
        "/root/.pex/installed_wheels/0/mylib-1.whl/mylib/model.py"}) {
    EXPECT_EQ(code.KindOf(file), kPackage) << file;
  }
  for (const std::string_view file :
       {"/home/me/.venv/lib/python3.11/site-packages/flax/linen/linear.py",
        "/usr/local/lib/python3.10/dist-packages/absl/app.py", "/usr/lib/python3.11/runpy.py",
        "/opt/python/lib/python3.13t/threading.py", "/usr/lib/python311.zip/runpy.py",
        "<frozen importlib._bootstrap>", "/x/site-packages/decorator.py", ""}) {
    EXPECT_EQ(code.KindOf(file), kMachinery) << file;
  }
}

TEST(UserCode, WordsInThePathDoNotMakeAPackage) {
  UserCode code;
  for (const std::string_view file :
       {"/home/me/keras/model.py", "/home/me/torch/nn/model.py", "/home/jax/train.py",
        "/data/flax/linen.py", "/home/me/my-site-packages/train.py", "/home/me/lib/python/train.py",
        "/home/me/tensorflow/jax/optax/train.py", "keras/src/model.py", "train.py",
        "/home/me/site-packages.py", "<ipython-input-3-abc>", "<stdin>"}) {
    code.AddFile(file);
    EXPECT_EQ(code.KindOf(file), kUser) << file;
  }
  EXPECT_EQ(code.KindOf("<string>"), FileKind::kWithoutFile);
}

TEST(UserCode, FrameworkInstalledElsewhereIsKnownByItsOwnFiles) {
  UserCode code;
  EXPECT_EQ(code.KindOf("/opt/flax/flax/linen/dtypes.py"), kUser);
  code.AddFile("/opt/flax/flax/linen/module.py");
  EXPECT_EQ(code.KindOf("/opt/flax/flax/linen/dtypes.py"), kMachinery);
  EXPECT_EQ(code.KindOf("/opt/flax/examples/train.py"), kUser);
  EXPECT_EQ(code.KindOf("/opt/flax2/flax/linen/dtypes.py"), kUser);
}

TEST(UserCode, OwnPackageBesideTheProgramIsNotTheUsers) {
  UserCode code;
  code.AddFile("/opt/xlatrace/share/xlatrace/python/xlatrace/notebook.py");
  EXPECT_EQ(code.KindOf("/opt/xlatrace/share/xlatrace/python/xlatrace/notebook.py"), kMachinery);
  EXPECT_EQ(code.KindOf("/home/me/xlatrace/train.py"), kUser);
  code.AddFile("/opt/python/xlatrace_hook/xlatrace_hook/watcher.py");
  EXPECT_EQ(code.KindOf("/opt/python/xlatrace_hook/xlatrace_hook/stacks.py"), kMachinery);
}

TEST(PackageOf, NameOfTheEnvironmentIsNoPackage) {
  EXPECT_EQ(PackageOf("/home/me/jax/lib/python3.11/site-packages/numpy/lib/npyio.py"), "numpy");
  EXPECT_EQ(PackageOf("/opt/conda/envs/jax/lib/python3.11/queue.py"), "python");
  EXPECT_EQ(PackageOf("/home/me/jax/train.py"), "");
}

TEST(UserCode, DeclaredPackagesAreTheUsers) {
  const UserCode code("/opt/env/lib/python3.11/site-packages/mylib/:otherlib");
  EXPECT_EQ(code.KindOf("/opt/env/lib/python3.11/site-packages/mylib/model.py"), kUser);
  EXPECT_EQ(code.KindOf("/opt/env/lib/python3.11/site-packages/mylib2/model.py"), kPackage);
  EXPECT_EQ(code.KindOf("/other/site-packages/otherlib/model.py"), kUser);
  EXPECT_EQ(code.KindOf("/other/site-packages/jax/otherlib.py"), kMachinery);
}

TEST(UserFrame, InnermostFrameOfTheUserWins) {
  const std::vector<FileKind> stack = {kMachinery, kPackage, kUser, kMachinery, kUser};
  EXPECT_EQ(FindUserFrame(stack).position, 2u);
  EXPECT_FALSE(FindUserFrame(stack).is_library);
}

TEST(UserFrame, CodeWithoutAFileCountsOnlyWithoutAUsersFile) {
  EXPECT_EQ(FindUserFrame(std::vector{FileKind::kWithoutFile, kUser}).position, 1u);
  const std::vector<FileKind> alone = {kMachinery, FileKind::kWithoutFile, kMachinery};
  EXPECT_EQ(FindUserFrame(alone).position, 1u);
  EXPECT_FALSE(FindUserFrame(alone).is_library);
}

TEST(UserFrame, OutermostPackageFrameStandsForAProgramInPackages) {
  const std::vector<FileKind> stack = {kMachinery, kPackage, kMachinery, kPackage, kMachinery};
  EXPECT_EQ(FindUserFrame(stack).position, 3u);
  EXPECT_TRUE(FindUserFrame(stack).is_library);
  const std::vector<FileKind> machinery = {kMachinery, kMachinery};
  EXPECT_EQ(FindUserFrame(machinery).position, 0u);
  EXPECT_TRUE(FindUserFrame(machinery).is_library);
}

}  // namespace
}  // namespace xlatrace::model
