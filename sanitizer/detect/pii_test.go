package detect

import "testing"

func TestEmail(t *testing.T) {
	check(t, []row{
		{"plain", "write to ann.lee+x@mail.example.com, please", only("email=ann.lee+x@mail.example.com")},
		{"sentence end", "ann@example.com.", only("email=ann@example.com")},
		{"brackets", "<ann@example.com>", only("email=ann@example.com")},
		{"after an escape", `\nann@example.com\n`, only("email=ann@example.com")},
		{"percent escape", "to=ann%40example.com&x", only("email=ann%40example.com")},
		{"internationalised", "jürgen@müller.example", only("email=jürgen@müller.example")},
		{"no top label", "ann@localhost", nil},
		{"version", "left-pad@1.3.0", nil},
		{"image", "icon@2x.png", nil},
		{"decorator", "@app.route", nil},
		{"model", "claude@20241022", nil},
		{"alone", "a @ b.com", nil},
	})
}

func TestPhone(t *testing.T) {
	check(t, []row{
		{"international", "call +49 30 901820 now", only("phone=+49 30 901820")},
		{"international, dense", "+14155552671", only("phone=+14155552671")},
		{"international with area in brackets", "+44 (0)20 7946 0958", only("phone=+44 (0)20 7946 0958")},
		{"American", "(415) 555-2671", only("phone=(415) 555-2671")},
		{"American hyphens", "415-555-2671", only("phone=415-555-2671")},
		{"American dots", "415.555.2671", only("phone=415.555.2671")},
		{"American with one", "1-415-555-2671", only("phone=1-415-555-2671")},
		{"extension", "415-555-2671 x123", only("phone=415-555-2671 x123")},
		{"extension, dense", "+1-903-140-4508x769", only("phone=+1-903-140-4508x769")},
		{"British", "020 7946 0958", only("phone=020 7946 0958")},
		{"after a word", "phone: 555 2671 99", only("phone=555 2671 99")},
		{"plain digits after a word", "Mobile 4155552671", only("phone=4155552671")},
		{"plain digits", "4155552671", nil},
		{"area code that cannot be", "115-555-2671", nil},
		{"country code that does not exist", "+210 12", nil},
		{"sum", "+12", nil},
		{"exponent", "0x.8p+2147483647 1e+1000000000", nil},
		{"time with its zone", "15:04:05 -0700 2006", nil},
		{"years after a word", "mobile phones 2006-2022", nil},
		{"number in the same sentence", "call it with what it expected: 50331648", nil},
		{"date", "2024-10-22 10:00:00", nil},
		{"date after a word", "call me 2024-10-22", nil},
		{"epoch", `{"at":1789000000}`, nil},
		{"table", "200 300 4000", nil},
		{"dump", "14 00 00 08 00 08 03 64 12", nil},
		{"signed decimal", "+35236450.6", nil},
	})
}

func TestIBAN(t *testing.T) { // examples of the SWIFT registry
	check(t, []row{
		{"German", "IBAN DE89 3704 0044 0532 0130 00.", only("iban=DE89 3704 0044 0532 0130 00")},
		{"British, dense", "GB29NWBK60161331926819", only("iban=GB29NWBK60161331926819")},
		{"lower case", "gb29nwbk60161331926819", only("iban=gb29nwbk60161331926819")},
		{"Norwegian", "NO93 8601 1117 947", only("iban=NO93 8601 1117 947")},
		{"Maltese", "MT84MALT011000012345MTLCAST001S", only("iban=MT84MALT011000012345MTLCAST001S")},
		{"wrong check", "NO93 8601 1117 948", nil},
		{"no country", "ZZ89370400440532013000", nil},
		{"too long", "GB29NWBK601613319268190", nil},
		{"inside a word", "XGB29NWBK60161331926819", nil},
	})
}

func TestAddresses(t *testing.T) {
	check(t, []row{
		{"IPv4", "from 203.0.113.7:443", only("ip=203.0.113.7")},
		{"IPv4 in a URL", "http://10.1.2.3/x", only("ip=10.1.2.3")},
		{"IPv4 at the sentence's end", "It is 203.0.113.7.", only("ip=203.0.113.7")},
		{"loopback", "127.0.0.1:80", nil},
		{"five numbers", "1.2.3.4.5", nil},
		{"over 255", "203.0.113.256", nil},
		{"product", "Chrome/120.0.1.2", nil},
		{"version", "version 2.11.3.4", nil},
		{"in a word", "v2.11.3.4", nil},
		{"object id", "2.5.29.46 and 1.3.101.112", nil},
		{"section", "see 3.4.1.2 below", nil},
		{"small numbers after a word", "host 3.4.1.2", only("ip=3.4.1.2")},
		{"small numbers with a port", "1.1.1.1:53", only("ip=1.1.1.1")},
		{"small numbers, one large", "3.88.120.17", only("ip=3.88.120.17")},
		{"IPv6", "at 2001:db8::8a2e:370:7334 now", only("ip=2001:db8::8a2e:370:7334")},
		{"IPv6, whole", "2001:0db8:0000:0000:0000:8a2e:0370:7334", only("ip=2001:0db8:0000:0000:0000:8a2e:0370:7334")},
		{"IPv6, link", "fe80::1ff:fe23:4567:890a%eth0", only("ip=fe80::1ff:fe23:4567:890a")},
		{"IPv6 in brackets", "[2001:db8::1:2]:443", only("ip=2001:db8::1:2")},
		{"loopback 6", "[::1]", nil},
		{"C++", "std::chrono::a", nil},
		{"time", "12:34:56", nil},
		{"MAC", "ether 00:1b:44:11:3a:b7,", only("mac=00:1b:44:11:3a:b7")},
		{"MAC hyphens", "00-1B-44-11-3A-B7", only("mac=00-1B-44-11-3A-B7")},
		{"MAC of nobody", "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff", nil},
		{"fingerprint", "00:1b:44:11:3a:b7:12:34", nil},
	})
}

func TestPlaces(t *testing.T) {
	check(t, []row{
		{"home", "open /home/annlee/src/x.go", only("home_path=home/annlee")},
		{"Mac", `"/Users/ann.lee/Documents"`, only("home_path=Users/ann.lee")},
		{"Windows", `C:\Users\Ann\x`, only(`home_path=Users\Ann`)},
		{"Windows, escaped", `C:\\Users\\Ann\\x`, only(`home_path=Users\\Ann`)},
		{"file URL", "file:///home/annlee/x", only("home_path=home/annlee")},
		{"deeper", "/mnt/c/Users/annlee", only("home_path=Users/annlee")},
		{"nobody", "/home/user/x /home/runner/work", nil},
		{"REST", "https://api.example.com/home/annlee", nil},
		{"lower case", "/users/annlee", nil},
		{"relative", "src/home/annlee", nil},
		{"git", "git clone git@git.example.com:team/secret-project.git", only("git_remote=git@git.example.com:team/secret-project.git")},
		{"internal", "http://billing.internal/x", only("private_host=billing.internal")},
		{"with a digit", "db-1.prod.corp is down", only("private_host=db-1.prod.corp")},
		{"attribute", "threading.local() jdk.internal.misc", nil},
		{"Azure", "https://contoso-ai.openai.azure.com/", only("cloud_host=contoso-ai.openai.azure.com")},
		{"AWS", "mydb.abc123.eu-west-1.rds.amazonaws.com:5432", only("cloud_host=mydb.abc123.eu-west-1.rds.amazonaws.com")},
		{"public", "https://go.dev/doc", nil},
		{"ARN", "arn:aws:bedrock:us-east-1:123456789012:model/x", only("cloud_account=123456789012")},
		{"Azure subscription", "/subscriptions/12345678-1234-1234-1234-123456789abc/resourceGroups", only("cloud_account=12345678-1234-1234-1234-123456789abc")},
	})
}

func TestBirthDate(t *testing.T) {
	check(t, []row{
		{"ISO", "DOB: 1980-05-17", only("birth_date=1980-05-17")},
		{"American", "date of birth 5/17/1980", only("birth_date=5/17/1980")},
		{"German", "geboren am 17.05.1980", only("birth_date=17.05.1980")},
		{"month's name", "born May 17, 1980 in", only("birth_date=May 17, 1980")},
		{"month's name after", "born on 17 May 1980", only("birth_date=17 May 1980")},
		{"no word", "on 1980-05-17", nil},
		{"far from it", "born, and then for a long time nothing at all happened until finally, in the year 1980-05-17", nil},
	})
}

func TestWallet(t *testing.T) { // the genesis block's; examples of BIP 173 and EIP-55
	check(t, []row{
		{"Bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", only("wallet=1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")},
		{"wrong checksum", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", only("random=1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")},
		{"segwit", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", only("wallet=bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")},
		{"test network", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", only("wallet=tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx")},
		{"Ethereum", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", only("wallet=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")},
		{"hash", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed00", nil},
	})
}
