#pragma once

#include <vector>

#include "graph/operator.h"

// Every operator, in one list per source file. The objects live as long as the program.
namespace hocket {

using OperatorList = std::vector<const Operator*>;

OperatorList matrix_operators();
OperatorList sparse_operators();
OperatorList conv_operators();
OperatorList pool_operators();
OperatorList batch_norm_operators();
OperatorList layer_norm_operators();
OperatorList elementwise_operators();
OperatorList shape_operators();
OperatorList broadcast_operators();
OperatorList reduce_operators();
OperatorList softmax_operators();
OperatorList loss_operators();
OperatorList embedding_operators();
OperatorList attention_operators();
OperatorList update_operators();
OperatorList flat_operators();
OperatorList compression_operators();
OperatorList communication_operators();

}  // namespace hocket
