// SPDX-License-Identifier: Apache-2.0

// Phases, layers and steps of ops that TensorFlow ran itself.

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/framework_op_labels.h"
#include "analysis/steps.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;
using testing::ElementsAre;

TEST(NameInModel, TensorFlowPrefixesAndSuffixesAreRemoved) {
  EXPECT_EQ(NameInModel("StatefulPartitionedCall/mlp_1/dense_1/MatMul"), "mlp_1/dense_1/MatMul");
  EXPECT_EQ(NameInModel("StatefulPartitionedCall_2/PartitionedCall/a/Add"), "a/Add");
  EXPECT_EQ(NameInModel("ConstantFolding/lm/mul-matshapes-0"), "lm/mul");
  EXPECT_EQ(NameInModel("lm/ArithmeticOptimizer/AddOpsRewrite_add_1"), "lm/add_1");
  EXPECT_EQ(NameInModel("a/ArithmeticOptimizer/ReorderCastLikeAndValuePreserving_float_Cast_1"),
            "a/Cast_1");
  EXPECT_EQ(NameInModel("while/body/_12/while/dense/MatMul"), "dense/MatMul");
  EXPECT_EQ(NameInModel("IteratorGetNext/_3"), "IteratorGetNext");
  EXPECT_EQ(NameInModel("gradient_tape/replica_1/dense/MatMul"), "gradient_tape/dense/MatMul");
  EXPECT_EQ(NameInModel("replica/dense/MatMul"), "replica/dense/MatMul");
  EXPECT_EQ(NameInModel("MatMul"), "MatMul");
}

// Ops of one program, by name and type.
class Program {
 public:
  explicit Program(const std::vector<std::pair<std::string, std::string>>& ops) {
    for (const auto& [name, type] : ops) {
      model::InstructionRow row;
      row.op_name = name;
      row.op_type = type;
      attribution_.instructions.push_back(row);
    }
    LabelFrameworkOps(attribution_, 0);
    for (const model::InstructionRow& row : attribution_.instructions) rows_[row.op_name] = row;
  }
  Phase PhaseOf(const std::string& name) const { return rows_.at(name).phase; }
  std::string LayerOf(const std::string& name) const { return rows_.at(name).layer; }
  std::string GroupOf(const std::string& name) const { return rows_.at(name).layer_group; }

 private:
  model::AttributionTables attribution_;
  std::map<std::string, model::InstructionRow> rows_;
};

TEST(FrameworkOps, PhasesOfATensorFlowStepFollowFromNames) {
  const Program program({{"IteratorGetNext/_3", "_Send"},
                         {"dense_0/MatMul", "MatMul"},
                         {"loss/Mean", "Mean"},
                         {"gradient_tape/loss/truediv", "RealDiv"},
                         {"gradient_tape/dense_0/MatMul/MatMul_1", "MatMul"},
                         {"AddN", "AddN"},
                         {"sgd/mul", "Mul"},
                         {"sgd/AssignSubVariableOp", "AssignSubVariableOp"},
                         {"div_no_nan", "DivNoNan"}});
  EXPECT_EQ(program.PhaseOf("IteratorGetNext/_3"), Phase::kOther);
  EXPECT_EQ(program.PhaseOf("dense_0/MatMul"), Phase::kForward);
  EXPECT_EQ(program.PhaseOf("loss/Mean"), Phase::kLoss);
  EXPECT_EQ(program.PhaseOf("gradient_tape/loss/truediv"), Phase::kBackward);
  EXPECT_EQ(program.LayerOf("gradient_tape/loss/truediv"), "loss");
  EXPECT_EQ(program.PhaseOf("gradient_tape/dense_0/MatMul/MatMul_1"), Phase::kBackward);
  EXPECT_EQ(program.PhaseOf("AddN"), Phase::kBackward);
  EXPECT_EQ(program.PhaseOf("sgd/mul"), Phase::kOptimizer);
  EXPECT_EQ(program.PhaseOf("sgd/AssignSubVariableOp"), Phase::kOptimizer);
  EXPECT_EQ(program.PhaseOf("div_no_nan"), Phase::kOther);
}

TEST(FrameworkOps, OpsWithAGradientOutsideOfScopesAreForward) {
  const Program program({{"MatMul_1", "MatMul"},
                         {"MatMul_2", "MatMul"},
                         {"Tanh", "Tanh"},
                         {"Tanh_1", "Tanh"},
                         {"Relu", "Relu"},
                         {"mul_4", "Mul"},
                         {"gradient_tape/MatMul_1/MatMul", "MatMul"},
                         {"gradient_tape/TanhGrad_1", "TanhGrad"},
                         {"ArithmeticOptimizer/SimplifyAggregation_Mul_AddN", "Mul"},
                         {"IteratorGetNext/_3", "_Send"}});
  EXPECT_EQ(program.PhaseOf("MatMul_1"), Phase::kForward);
  EXPECT_EQ(program.PhaseOf("MatMul_2"), Phase::kOther);  // A metric, for all that is known.
  EXPECT_EQ(program.PhaseOf("Tanh"), Phase::kForward);
  EXPECT_EQ(program.PhaseOf("Tanh_1"), Phase::kForward);
  EXPECT_EQ(program.PhaseOf("Relu"), Phase::kOther);
  EXPECT_EQ(program.PhaseOf("mul_4"), Phase::kOther);
  EXPECT_EQ(program.PhaseOf("gradient_tape/TanhGrad_1"), Phase::kBackward);
  EXPECT_EQ(program.PhaseOf("ArithmeticOptimizer/SimplifyAggregation_Mul_AddN"), Phase::kBackward);
  EXPECT_EQ(program.PhaseOf("IteratorGetNext/_3"), Phase::kOther);
}

TEST(FrameworkOps, NumberedLayersOfTheModelFoldIntoOneGroup) {
  const Program program({{"dense_0/MatMul", "MatMul"},
                         {"dense_1/MatMul", "MatMul"},
                         {"dense_2/MatMul", "MatMul"},
                         {"gradient_tape/dense_2/MatMul/MatMul", "MatMul"}});
  EXPECT_EQ(program.LayerOf("dense_0/MatMul"), "dense_0");
  EXPECT_EQ(program.LayerOf("dense_1/MatMul"), "dense_1");
  EXPECT_EQ(program.LayerOf("gradient_tape/dense_2/MatMul/MatMul"), "dense_2");
  EXPECT_EQ(program.GroupOf("dense_2/MatMul"), "dense_*");
}

TEST(FrameworkOps, KerasSuffixesAreRemovedAndTheFirstLayerFolds) {
  const std::string call = "StatefulPartitionedCall/";
  const Program program({{call + "mlp_1/dense_1/MatMul", "MatMul"},
                         {call + "mlp_1/dense_1_2/MatMul", "MatMul"},
                         {call + "mlp_1/dense_2_1/MatMul", "MatMul"},
                         {call + "mlp_1/head_1/MatMul", "MatMul"},
                         {call + "gradient_tape/mlp_1/dense_1/MatMul/MatMul", "MatMul"},
                         {call + "compile_loss/sparse_categorical_crossentropy/Mean", "Mean"},
                         {call + "adam/Mul_3", "Mul"}});
  EXPECT_EQ(program.LayerOf(call + "mlp_1/dense_1/MatMul"), "mlp/dense");
  EXPECT_EQ(program.LayerOf(call + "mlp_1/dense_1_2/MatMul"), "mlp/dense_1");
  EXPECT_EQ(program.LayerOf(call + "gradient_tape/mlp_1/dense_1/MatMul/MatMul"), "mlp/dense");
  for (const char* name : {"mlp_1/dense_1/MatMul", "mlp_1/dense_1_2/MatMul"}) {
    EXPECT_EQ(program.GroupOf(call + name), "mlp/dense_*");
  }
  EXPECT_EQ(program.GroupOf(call + "mlp_1/head_1/MatMul"), "mlp/head");
  EXPECT_EQ(program.PhaseOf(call + "compile_loss/sparse_categorical_crossentropy/Mean"),
            Phase::kLoss);
  EXPECT_EQ(program.PhaseOf(call + "adam/Mul_3"), Phase::kOptimizer);
}

TEST(FrameworkOps, LayerNamedLikeAnOpIsALayer) {
  const Program keras_3({{"cnn_1/conv_1/Conv2D", "Conv2D"},
                         {"cnn_1/dropout_1/stateless_dropout/Mul", "Mul"},
                         {"cnn_1/dropout_1/Cast", "Cast"},
                         {"gradient_tape/cnn_1/dropout_1/stateless_dropout/Mul", "Mul"}});
  EXPECT_EQ(keras_3.LayerOf("cnn_1/dropout_1/stateless_dropout/Mul"), "cnn/dropout");
  EXPECT_EQ(keras_3.LayerOf("cnn_1/dropout_1/Cast"), "cnn/dropout");
  EXPECT_EQ(keras_3.LayerOf("gradient_tape/cnn_1/dropout_1/stateless_dropout/Mul"), "cnn/dropout");
  const Program keras_2({{"cnn/conv/Conv2D", "Conv2D"},
                         {"cnn/dropout/dropout/Mul", "Mul"},
                         {"cnn/attention/dropout/Mul", "Mul"}});
  EXPECT_EQ(keras_2.LayerOf("cnn/dropout/dropout/Mul"), "cnn/dropout");
  EXPECT_EQ(keras_2.LayerOf("cnn/attention/dropout/Mul"), "cnn/attention");
}

// A device that runs ops; each takes 10 ns, and 2 pass until the next one.
class Ops {
 public:
  Ops() : lane_(b.AddLane(b.AddDevice())) {}

  void Run(const std::string& name, Phase phase) {
    model::Id& id = ids_[name];
    if (id == 0) id = b.AddInstruction(0, phase);
    const size_t activity = b.AddActivity(lane_, clock_, clock_ + 10, {.instruction = id});
    b.attribution.labels[b.attribution.label_of[activity] - 1].evidence = model::Evidence::kOpRange;
    clock_ += 12;
  }
  void Wait(int64_t ns) { clock_ += ns; }
  int64_t now() const { return clock_; }

  RunBuilder b;

 private:
  model::Id lane_;
  int64_t clock_ = 0;
  std::map<std::string, model::Id> ids_;
};

std::vector<int64_t> StartsOf(const Ops& ops) {
  const auto classes = ClassifyActivities(ops.b.run, ops.b.attribution);
  const auto by_device = ActivitiesByDevice(ops.b.run);
  const Steps steps = FindSteps(ops.b.run, ops.b.attribution, {classes, by_device, {{}}, {}, {}});
  std::vector<int64_t> starts;
  for (const model::StepRow& row : steps.rows) starts.push_back(row.start_ns);
  return starts;
}

TEST(OpSteps, StepBeginsWithTheFirstOpThatRecurs) {
  Ops ops;
  ops.Run("init", Phase::kForward);
  std::vector<int64_t> starts;
  for (int k = 0; k < 6; ++k) {
    starts.push_back(ops.now());
    ops.Run("forward", Phase::kForward);
    ops.Run("backward", Phase::kBackward);
    ops.Run("update", Phase::kOptimizer);
    ops.Wait(20);
  }
  EXPECT_EQ(StartsOf(ops), starts);
}

TEST(OpSteps, EvaluationThatRunsTheForwardOpsIsNoStep) {
  Ops ops;
  std::vector<int64_t> starts;
  for (int k = 0; k < 5; ++k) {
    starts.push_back(ops.now());
    for (const char* name : {"a", "b"}) ops.Run(name, Phase::kForward);
    ops.Run("gradient", Phase::kBackward);
    ops.Run("update", Phase::kOptimizer);
    ops.Wait(50);
  }
  ops.Wait(1000);
  for (int k = 0; k < 3; ++k) {
    for (const char* name : {"a", "b", "metric"}) ops.Run(name, Phase::kForward);
    ops.Wait(50);
  }
  EXPECT_EQ(StartsOf(ops), starts);
}

TEST(OpSteps, BodyOfALoopRunsMoreOftenThanItsStep) {
  Ops ops;
  std::vector<int64_t> starts;
  for (int k = 0; k < 7; ++k) {
    starts.push_back(ops.now());
    ops.Run("embed", Phase::kForward);
    for (int turn = 0; turn < 7; ++turn) {
      for (const char* name : {"cell", "tanh"}) ops.Run(name, Phase::kForward);
    }
    ops.Run("loss", Phase::kLoss);
    for (int turn = 0; turn < 7; ++turn) {
      for (const char* name : {"tanh_grad", "cell_grad"}) ops.Run(name, Phase::kBackward);
      ops.Run("sum", Phase::kBackward);
    }
    for (const char* name : {"scale", "update"}) ops.Run(name, Phase::kOptimizer);
    // A branch that is not always taken, and that takes the most time of what takes turns.
    for (int op = 0; op < 9 && (k == 0 || k == 1 || k == 4); ++op) {
      ops.Run("branch" + std::to_string(op), Phase::kBackward);
    }
    ops.Wait(50);
  }
  EXPECT_EQ(StartsOf(ops), starts);
}

TEST(OpSteps, RecurringOpsBeforeTheFirstStepAreNoSteps) {
  Ops ops;
  for (int weight = 0; weight < 4; ++weight) {
    ops.Run("key", Phase::kOther);
    ops.Run("first value of " + std::to_string(weight), Phase::kOther);
  }
  std::vector<int64_t> starts;
  for (int k = 0; k < 4; ++k) {
    starts.push_back(ops.now());
    for (const char* name : {"a", "b"}) ops.Run(name, Phase::kForward);
    for (int op = 0; op < 9; ++op) ops.Run("gradient" + std::to_string(op), Phase::kBackward);
    ops.Run("update", Phase::kOptimizer);
    ops.Wait(20);
  }
  EXPECT_EQ(StartsOf(ops), starts);
}

TEST(OpSteps, OpsThatDoNotRecurHaveNoSteps) {
  Ops ops;
  for (int k = 0; k < 8; ++k) ops.Run("op" + std::to_string(k), Phase::kForward);
  EXPECT_THAT(StartsOf(ops), ElementsAre());
}

}  // namespace
}  // namespace xlatrace::analysis
