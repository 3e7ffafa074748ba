// Texts that would do something in a page if it took them for markup, script or data of its own.
#pragma once
#include <string>
#include <vector>

namespace bicrl::report {

inline std::vector<std::string> hostile_texts() {
  using namespace std::string_literals;
  return {"<script>alert(1)</script>"s,
          "</script><script>alert(2)</script>"s,
          "</SCRIPT ><img src=x onerror=alert(3)>"s,
          "<!--<script>"s,
          "--><svg onload=alert(4)>"s,
          "\"><iframe srcdoc='<script>alert(5)</script>'></iframe>"s,
          "' onmouseover='alert(6)' x='"s,
          "` onfocus=`alert(7)` autofocus"s,
          "javascript:alert(8)"s,
          "{{constructor.constructor('alert(9)')()}}${alert(10)}<%= alert(11) %>"s,
          "</pre></span></details></style><style>body{display:none}</style>"s,
          "<base href='https://example.invalid/'><link rel=stylesheet href=//example.invalid>"s,
          "<meta http-equiv=refresh content='0;url=//example.invalid'>"s,
          "&lt;script&gt;alert(12)&lt;/script&gt;&#x3c;img&#x3e;"s,
          "\u202Eevitcelfer\u202C \u2066isolated\u2069 zero\u200Bwidth\u00AD"s,
          "null\0byte <b>"s,
          "\xC0\xBCscript\xC0\xBE overlong \xED\xA0\x80 surrogate \xFF\xFE"s,
          "line\u2028separator\u2029paragraph \x1B[31mred\x07"s,
          "]]><![CDATA[<script>alert(13)</script>]]>"s,
          "__proto__"s};
}

}  // namespace bicrl::report
