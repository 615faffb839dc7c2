package detect

import "testing"

// Texts hold JSON that was escaped and cut: the letters of an escape are none of
// the word that follows.
func TestAfterEscapes(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, rule string }{
		{`{"note":"\tNTLBLF63D05H646C\t"}`, "it_cf"},
		{`\nGB58BUKB21845643378881\n`, "iban"},
		{`\u00e4GB58BUKB21845643378881`, "iban"},
		{`\u003c164-72-7330\u003e`, "us_ssn"},
		{`\u0026203.0.113.77`, "ip"},
		{`key:81:bc:ce:49:68:21`, "mac"},
		{`face:81:bc:ce:49:68:21`, "mac"},
		{`key:2001:db8::5243`, "ip"},
		{`\u003c2001:db8::3154\u003e`, "ip"},
		{`\u003c88:eb:cc:25:c3:35\u003e`, "mac"},
		{`\u003c/home/xdljsrwdg/a\u003e`, "home_path"},
		{`\n/home/xdljsrwdg/a\n`, "home_path"},
		{`\u003c6d:39:30:48:63:c8\u003e`, "mac"},
		{`aws_session_token="the token is password=By9iLR9DG0Zcj9L2"`, "named_secret"},
		{`password=%tmtgQ1Mb0C#mqj1`, "named_secret"},
		{"password=6cq=\r\nLdpg#I3GGW2e4", "named_secret"},
		{`npm_KnnSYwILbHlZETfmcbqidXZnMgthGcaYPSk3`, "npm_token"},
		{"\x1b[1;31m203.0.113.77\x1b[0m", "ip"},
		{`\033[32mghp_16C7e42F292c6912E7710c838347Ae178B4a\033[0m`, "github_token"},
		{`_GB58BUKB21845643378881_`, "iban"},
		{`__4111 1111 1111 1111__`, "card"},
		{"4111+1111+1111+1111", "card"},
		{"12,4111111111111111,13", "card"},
		{"\n-6d:39:30:48:63:c8\n", "mac"},
		{"\n-ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github_token"},
		{"h=Bearer+16C7e42F292c6912E7710c", "auth_scheme"},
		{`路径/home/xdljsrwdg/a`, "home_path"},
		{`→/home/dxooaduxr/notes←`, "home_path"},
	} {
		found := s.Find(nil, []byte(tc.text))
		if len(found) != 1 || found[0].Rule != tc.rule {
			t.Errorf("in %s: %v, want %s", tc.text, found, tc.rule)
		}
	}
}
