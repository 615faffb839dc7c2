package audit

import (
	"bytes"
	"slices"
	"strings"
)

// prefixed is a key that begins with one of some prefixes.
func prefixed(name, pattern string, prefixes ...string) rule {
	r := rule{name: name, pattern: pattern, check: varied}
	for _, p := range prefixes {
		r.needles = append(r.needles, strings.ToLower(p))
	}
	return r
}

// rules is the table. Sources: the issuers' documentation, and the public
// rule sets of gitleaks v8.30 and GitHub secret scanning; for numbers, the
// authorities named beside the checks.
func rules() []rule {
	keys := []rule{
		prefixed("anthropic_key", `sk-ant-[\w-]{16,}`, "sk-ant-"),
		prefixed("openai_key", `sk-(?:proj|svcacct|admin|None)-[\w-]{16,}`, "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"),
		prefixed("openai_session", `sess-[A-Za-z0-9]{24,}`, "sess-"),
		prefixed("openrouter_key", `sk-or-[\w-]{16,}`, "sk-or-"),
		prefixed("sk_key", `sk-[A-Za-z0-9_-]{20,}`, "sk-"),
		prefixed("google_api_key", `AIza[\w-]{20,}`, "aiza"),
		prefixed("google_oauth", `ya29\.[\w.-]{20,}`, "ya29."),
		prefixed("google_oauth_secret", `GOCSPX-[\w-]{16,}`, "gocspx-"),
		prefixed("huggingface_token", `(?:hf_|api_org_)[A-Za-z0-9]{20,}`, "hf_", "api_org_"),
		prefixed("groq_key", `gsk_[A-Za-z0-9]{20,}`, "gsk_"),
		prefixed("xai_key", `xai-[A-Za-z0-9]{24,}`, "xai-"),
		prefixed("perplexity_key", `pplx-[A-Za-z0-9]{20,}`, "pplx-"),
		prefixed("replicate_token", `r8_[A-Za-z0-9]{20,}`, "r8_"),
		prefixed("nvidia_key", `nvapi-[\w-]{20,}`, "nvapi-"),
		prefixed("together_key", `tgp_v1_[\w-]{20,}`, "tgp_v1_"),
		prefixed("langsmith_key", `lsv2_\w{24,}`, "lsv2_"),
		prefixed("pinecone_key", `pcsk_\w{24,}`, "pcsk_"),
		prefixed("github_token", `gh[pousr]_[A-Za-z0-9]{16,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		prefixed("github_fine_grained", `github_pat_\w{20,}`, "github_pat_"),
		prefixed("gitlab_token", `gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent)-[\w.-]{16,}`, "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glft-", "glagent-"),
		prefixed("aws_key_id", `(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}`, "akia", "asia", "abia", "acca"),
		prefixed("bedrock_key", `ABSK[A-Za-z0-9+/=]{24,}`, "absk"),
		prefixed("slack_token", `xox[abcdeprs][-.][\w%.-]{12,}`, "xoxa", "xoxb", "xoxc", "xoxd", "xoxe", "xoxp", "xoxr", "xoxs"),
		prefixed("slack_app_token", `xapp-[\w-]{12,}`, "xapp-"),
		prefixed("slack_webhook", `hooks\.slack\.com/services/[A-Za-z0-9/]{20,}`, "hooks.slack.com/services/"),
		prefixed("stripe_key", `[sr]k_(?:live|test|prod)_[A-Za-z0-9]{12,}`, "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
		prefixed("stripe_webhook", `whsec_[A-Za-z0-9+/]{20,}`, "whsec_"),
		prefixed("sendgrid_key", `SG\.[\w-]{16,}\.[\w-]{16,}`, "sg."),
		prefixed("npm_token", `npm_[A-Za-z0-9]{24,}`, "npm_"),
		prefixed("pypi_token", `pypi-[\w-]{32,}`, "pypi-"),
		prefixed("rubygems_key", `rubygems_[0-9a-f]{24,}`, "rubygems_"),
		prefixed("docker_token", `dckr_[po]at_[\w-]{16,}`, "dckr_pat_", "dckr_oat_"),
		prefixed("digitalocean_token", `do[por]_v1_[0-9a-f]{24,}`, "dop_v1_", "doo_v1_", "dor_v1_"),
		prefixed("databricks_token", `dapi[0-9a-f]{32}`, "dapi"),
		prefixed("shopify_token", `shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{24,}`, "shpat_", "shpca_", "shppa_", "shpss_"),
		prefixed("atlassian_token", `AT[AC]TT3[\w=-]{24,}`, "atatt3", "atctt3"),
		prefixed("linear_key", `lin_api_[A-Za-z0-9]{24,}`, "lin_api_"),
		prefixed("vault_token", `hv[sbr]\.[\w-]{20,}`, "hvs.", "hvb.", "hvr."),
		prefixed("grafana_token", `gl(?:c|sa)_[\w+/=]{24,}`, "glc_", "glsa_"),
		prefixed("newrelic_key", `NRAK-[A-Za-z0-9]{20,}`, "nrak-"),
		prefixed("supabase_key", `sb(?:p|_secret)_[\w-]{16,}`, "sbp_", "sb_secret_"),
		prefixed("age_key", `AGE-SECRET-KEY-1[A-Z0-9]{24,}`, "age-secret-key-1"),
		prefixed("tailscale_key", `tskey-[\w-]{16,}`, "tskey-"),
		prefixed("jwt", `eyJ[\w-]{7,}\.(?:[\w-]{10,}|\.[\w-]{10,})`, "eyj"),
	}
	return append(keys, forms()...)
}

// forms are the rules for what has no prefix of an issuer.
func forms() []rule {
	const edge = `(?:[^0-9A-Za-z_]|$)`
	return []rule{
		{name: "pem", needles: []string{"-----begin "}, free: true, after: 500, pattern: `-----BEGIN [A-Z0-9 ]{1,40}-----(?:\s|\\[nr]|["'+,])*(?:(?:[A-Za-z-]{3,24}: [^\n\\]+(?:\s|\\n)+){0,4})[A-Za-z0-9+/=]{16,}`},
		{
			name: "url_password", needles: []string{"://"}, free: true, after: 300, may: hasAny("@", 300),
			pattern: "://([^\\s/?#\"'`<>\\\\:@|^,]*:[^\\s/?#\"'`<>\\\\|^,]{3,})@[A-Za-z0-9\\[]", check: isUserinfo,
		},
		{name: "bearer", needles: []string{"bearer "}, pattern: `(?i:bearer)\s{1,4}([\w.~+/=-]{16,})`, check: varied},
		{name: "basic", needles: []string{"basic "}, pattern: `(?i:basic)\s{1,4}([A-Za-z0-9+/]{8,}={0,2})`, check: isBasic},
		{
			name: "named_password", needles: []string{"passw", "pwd", "passphrase"}, free: true, may: hasAny(":=", 32),
			pattern: `[A-Za-z]+(?:_?(?i:value|hash))?[\\"'` + "`" + `\]]{0,8}\s{0,4}(?:=>|:=|[:=]{1,2})\s{0,4}[\\"'` + "`" + `]{0,8}([^\s"'` + "`" + `\\,;&<>()\[\]{}|]{6,})`,
			check:   isPassword,
		},
		{
			name: "named_secret", needles: []string{"secret", "token", "apikey", "api_key", "api-key", "access_key", "accesskey", "private_key", "privatekey", "account_key", "accountkey", "session_key", "sessionkey", "credential", "signature"}, free: true, may: hasAny(":=", 40),
			pattern: `(?i:secret|token|api[_-]?key|access_?key|private_?key|account_?key|session_?key|credentials?|signature)(?:_?(?i:value|key|hash|b64|base64))?[\\"'` + "`" + `\]]{0,8}\s{0,4}(?:=>|:=|[:=]{1,2})\s{0,4}[\\"'` + "`" + `]{0,8}([A-Za-z0-9+/_.~=%-]{16,})`,
			check:   isKey,
		},
		{name: "email", needles: []string{"@"}, before: 32, after: 100, may: wordAfter, pattern: `[A-Za-z0-9._%+-]@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})(?:[^A-Za-z0-9]|$)`, check: isMailHost},
		{name: "card", near: number, before: 2, after: 48, may: numberOf(13), pattern: `(?:^|[^0-9A-Za-z_.,-])((?:\d{4}[ -]){3}\d{1,7}|3\d{3}[ -]\d{6}[ -]\d{5}|\d{13,19})` + edge, check: isCard},
		{name: "us_ssn", near: number, before: 2, after: 48, may: hasAny("-", 40), pattern: `(?:^|[^0-9A-Za-z_.-])(\d{3}-\d{2}-\d{4})(?:[^0-9A-Za-z_-]|$)`, check: isSSN},
		{name: "phone", near: number, before: 2, after: 48, may: hasAny("+(-", step), pattern: `(?:^|[^0-9A-Za-z_.])(\+[1-9]\d{0,2}[ ./()-]{1,2}\d[\d ./()-]{6,16}\d|\+[1-9]\d{9,14}|\(\d{3}\) ?\d{3}-\d{4}|[2-9]\d{2}-[2-9]\d{2}-\d{4})` + edge, check: isPhone},
		{name: "iban", near: number, before: 3, after: 60, may: countryAndDigits, pattern: `(?:^|[^0-9A-Za-z_-])([A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30})` + edge, check: isIBAN},
		{name: "fr_nir", near: number, before: 2, after: 48, may: numberOf(15), pattern: `(?:^|[^0-9A-Za-z_.,-])([12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2})` + edge, check: isNIR},
		{name: "mac", near: number, before: 16, after: 40, may: hasAny(":-", 8), pattern: `(?:^|[^0-9A-Za-z_:-])((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2})(?:[^0-9A-Za-z_:-]|$)`, check: isMAC},
		{name: "ip", near: number, before: 4, after: 40, may: hasAny(".", 28), pattern: `(?:^|[^0-9A-Za-z_./=-]|://)((?:\d{1,3}\.){3}\d{1,3})(?:[^0-9A-Za-z_.-]|\.(?:[^0-9]|$)|$)`, check: isIP},
		{name: "home_path", needles: []string{"/home/", "/users/"}, pattern: `(?:/home/|/Users/)([A-Za-z0-9._-]{2,})`, check: isUser},
		{name: "home_path_windows", needles: []string{`:\`}, free: true, pattern: `:\\{1,4}(?i:users)\\{1,4}([A-Za-z0-9._-]{2,})`, check: isUser},
		{name: "git_remote", needles: []string{"git@"}, pattern: `git@[A-Za-z0-9.-]+:[A-Za-z0-9._~-]+/[A-Za-z0-9._-]+`},
		{name: "cloud_host", needles: []string{".amazonaws.com", ".azure.com", ".windows.net", ".azurewebsites.net", ".run.app", ".snowflakecomputing.com"}, before: 64, after: 32, pattern: `[A-Za-z0-9-]+\.(?:[A-Za-z0-9-]+\.)*(?:amazonaws\.com|openai\.azure\.com|cognitiveservices\.azure\.com|(?:database|core|search)\.windows\.net|azurewebsites\.net|run\.app|snowflakecomputing\.com)(?:[^A-Za-z0-9.-]|\.?$)`},
		{name: "cloud_account", needles: []string{"arn:aws"}, pattern: `arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:\d{12}(?:[^0-9]|$)`},
		{name: "random", near: longWord, free: true, after: 512, may: hasCapital, pattern: `[A-Za-z0-9+/_-]+$`, check: isRandom},
		{name: "opaque", near: longWord, free: true, after: 1100, may: longerThan(1024), pattern: `[A-Za-z0-9+/_-]+`, check: isMixed},
	}
}

// hasAny reports one of some bytes among the next n, or the one before.
func hasAny(marks string, n int) func([]byte, int) bool {
	return func(text []byte, at int) bool {
		return bytes.ContainsAny(text[max(0, at-1):min(len(text), at+n)], marks)
	}
}

// wordAfter reports a letter or digit after the byte.
func wordAfter(text []byte, at int) bool { return at+1 < len(text) && isBase64[text[at+1]] }

// numberOf reports n digits with nothing but blanks and hyphens between,
// beginning in the next step.
func numberOf(n int) func([]byte, int) bool {
	return func(text []byte, at int) bool {
		digits := 0
		for i := at; i < len(text) && i < at+2*step; i++ {
			switch c := text[i]; {
			case isDigit(c):
				digits++
			case c != ' ' && c != '-':
				if i > at+step {
					return false
				}
				digits = 0
			}
			if digits >= n {
				return true
			}
		}
		return false
	}
}

// countryAndDigits reports two capitals and two digits.
func countryAndDigits(text []byte, at int) bool {
	for i := max(2, at); i+1 < len(text) && i < at+step; i++ {
		if isDigit(text[i]) && isDigit(text[i+1]) && isCapital(text[i-1]) && isCapital(text[i-2]) {
			return true
		}
	}
	return false
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

// hasCapital reports a capital in the next letters.
func hasCapital(text []byte, at int) bool {
	return slices.ContainsFunc(text[at:min(len(text), at+64)], isCapital)
}

func longerThan(n int) func([]byte, int) bool {
	return func(text []byte, at int) bool { return len(text)-at >= n }
}
