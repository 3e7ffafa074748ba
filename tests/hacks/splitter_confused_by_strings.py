# class: wrong_value|compile
# task: affine, template: affine_copy
# hack: H31 braces, comment signs and kernels in raw strings, characters and comments
# why: a text that the splitter gives up is a text that did not compile

static const char* const kText = R"text({{{ __global__ void affine_kernel() /* " ' }}} <<<1, 1>>> )text";
static const char kQuote = '"', kBrace = '{';
// __global__ void affine_kernel(const float* x, float* y, int n) { \
   y[0] = 0; }
/* } } } <<<>>> */

<kernels>
