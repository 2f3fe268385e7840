/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX's operators of classical machine learning (ai.onnx.ml, onnx/docs/Operators-ml.md) and of
 * training steps (ai.onnx.preview.training), in the columns of operator_table.h. What they have
 * learnt stands in attributes, which are not counted as parameters.
 *
 * No include guard: whoever includes this defines the two names.
 */
/* clang-format off */
ML_OPERATOR(ArrayFeatureExtractor, ml_extract, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(Binarizer, same, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(CastMap, ml_map, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(CategoryMapper, ml_label, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(DictVectorizer, ml_map, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(FeatureVectorizer, ml_features, NONE, 0, NONE, NOTHING, NEW)
ML_OPERATOR(Imputer, same, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(LabelEncoder, ml_label, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(LinearClassifier, ml_classify, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(LinearRegressor, ml_regress, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(Normalizer, ml_scale, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(OneHotEncoder, ml_one_hot, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(SVMClassifier, ml_classify, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(SVMRegressor, ml_regress, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(Scaler, ml_scale, NONE, 0, NONE, FIRST, NEW)
ML_OPERATOR(TreeEnsemble, ml_regress, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(TreeEnsembleClassifier, ml_classify, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(TreeEnsembleRegressor, ml_regress, NONE, 0, NONE, NOTHING, STOPS)
ML_OPERATOR(ZipMap, ml_zip, NONE, 0, NONE, NOTHING, STOPS)

TRAINING_OPERATOR(Adagrad, optimizer, NONE, 0, NONE, NOTHING, STOPS)
TRAINING_OPERATOR(Adam, optimizer, NONE, 0, NONE, NOTHING, STOPS)
TRAINING_OPERATOR(Gradient, gradient, NONE, 0, NONE, NOTHING, STOPS)
TRAINING_OPERATOR(Momentum, optimizer, NONE, 0, NONE, NOTHING, STOPS)
/* clang-format on */
