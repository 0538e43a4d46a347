// What checker_page.ml and zarith's bytecode call, for js_of_ocaml: integers of 32 bits are numbers, larger ones BigInts.
// Zarith asks by their type which they are, so that every result must be the smaller kind where it fits (`z_small`).
// An old dialect: js_of_ocaml 4.0 reads neither `const` nor `1n`.

//Provides: formal_checker
//Requires: caml_call_gen, caml_named_value, caml_string_of_jsstring, caml_jsstring_of_string
function formal_checker(problem) {
  return caml_jsstring_of_string(caml_call_gen(caml_named_value("formal checker"), [caml_string_of_jsstring(problem)]));
}
//Always
//Requires: formal_checker
globalThis.formalChecker = formal_checker;

//Provides: z_small
function z_small(x) { return x >= -2147483648 && x <= 2147483647 ? Number(x) : x; }
//Provides: ml_z_init
function ml_z_init() { return 0; }
//Provides: ml_z_add
//Requires: z_small
function ml_z_add(x, y) { return z_small(BigInt(x) + BigInt(y)); }
//Provides: ml_z_sub
//Requires: z_small
function ml_z_sub(x, y) { return z_small(BigInt(x) - BigInt(y)); }
//Provides: ml_z_mul
//Requires: z_small
function ml_z_mul(x, y) { return z_small(BigInt(x) * BigInt(y)); }
//Provides: ml_z_mul_overflows
//Requires: z_small
function ml_z_mul_overflows(x, y) { return typeof z_small(BigInt(x) * BigInt(y)) === "bigint" ? 1 : 0; }
//Provides: ml_z_neg
//Requires: z_small
function ml_z_neg(x) { return z_small(-BigInt(x)); }
//Provides: ml_z_abs
//Requires: z_small
function ml_z_abs(x) { return z_small(BigInt(x) < BigInt(0) ? -BigInt(x) : BigInt(x)); }
//Provides: ml_z_succ
//Requires: z_small
function ml_z_succ(x) { return z_small(BigInt(x) + BigInt(1)); }
//Provides: ml_z_pred
//Requires: z_small
function ml_z_pred(x) { return z_small(BigInt(x) - BigInt(1)); }
//Provides: ml_z_sign
function ml_z_sign(x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
//Provides: ml_z_compare
function ml_z_compare(x, y) { return x > y ? 1 : x < y ? -1 : 0; }
//Provides: ml_z_equal
function ml_z_equal(x, y) { return x == y ? 1 : 0; }
//Provides: ml_z_shift_left
//Requires: z_small
function ml_z_shift_left(x, n) { return z_small(BigInt(x) << BigInt(n)); }
//Provides: ml_z_shift_right
//Requires: z_small
function ml_z_shift_right(x, n) { return z_small(BigInt(x) >> BigInt(n)); }
//Provides: ml_z_div_rem
//Requires: z_small, caml_raise_zero_divide
function ml_z_div_rem(x, y) {
  if (y == 0) caml_raise_zero_divide();
  return [0, z_small(BigInt(x) / BigInt(y)), z_small(BigInt(x) % BigInt(y))];
}
//Provides: ml_z_fdiv
//Requires: z_small, caml_raise_zero_divide
function ml_z_fdiv(x, y) {
  if (y == 0) caml_raise_zero_divide();
  var a = BigInt(x), b = BigInt(y), q = a / b;
  return z_small(a % b !== BigInt(0) && a < BigInt(0) !== b < BigInt(0) ? q - BigInt(1) : q);
}
//Provides: ml_z_cdiv
//Requires: z_small, caml_raise_zero_divide
function ml_z_cdiv(x, y) {
  if (y == 0) caml_raise_zero_divide();
  var a = BigInt(x), b = BigInt(y), q = a / b;
  return z_small(a % b !== BigInt(0) && a < BigInt(0) === b < BigInt(0) ? q + BigInt(1) : q);
}
//Provides: ml_z_to_int
//Requires: caml_failwith
function ml_z_to_int(x) { if (typeof x !== "number") caml_failwith("a number is larger than an index"); return x; }
//Provides: ml_z_format
//Requires: caml_string_of_jsbytes, caml_jsbytes_of_string, caml_failwith
function ml_z_format(f, x) {
  if (caml_jsbytes_of_string(f) !== "%d") caml_failwith("format");
  return caml_string_of_jsbytes(String(x));
}
//Provides: ml_z_of_substring_base
//Requires: z_small, caml_jsbytes_of_string, caml_failwith
function ml_z_of_substring_base(base, s, start, length) {
  var text = caml_jsbytes_of_string(s).substring(start, start + length);
  if (!/^-?[0-9]+$/.test(text)) caml_failwith("number " + text);
  return z_small(BigInt(text));
}
