package detect

import "testing"

// Numbers: the networks' published test numbers.
func TestCard(t *testing.T) {
	check(t, []row{
		{"Visa", "pay 4111 1111 1111 1111 now", only("card=4111 1111 1111 1111")},
		{"as a JSON number", `{"pan":4111111111111111}`, only("card=4111111111111111")},
		{"hyphens", "4012-8888-8888-1881", only("card=4012-8888-8888-1881")},
		{"hyphens with blanks", "4012 - 8888 - 8888 - 1881", only("card=4012 - 8888 - 8888 - 1881")},
		{"unlike marks", "4012 - 8888-8888 - 1881", nil},
		{"Amex alone", "378282246310005", only("card=378282246310005")},
		{"Amex in groups", "3782 822463 10005.", only("card=3782 822463 10005")},
		{"Discover", "6011 0009 9013 9424", only("card=6011 0009 9013 9424")},
		{"Mastercard 2 series", "2223003122003222", only("card=2223003122003222")},
		{"Mastercard", "5555555555554444", only("card=5555555555554444")},
		{"JCB", "3530111333300000", only("card=3530111333300000")},
		{"Diners", "30569309025904", only("card=30569309025904")},
		{"expiry beside", "4111 1111 1111 1111 12/27", only("card=4111 1111 1111 1111")},
		{"after CJK", "卡号4111111111111111。", only("card=4111111111111111")},
		{"unknown issuer after a word", "card number 9792 0303 9444 0796", only("card=9792 0303 9444 0796")},
		{"Maestro of twelve digits after a word", "card 676222165679", only("card=676222165679")},
		{"twelve digits", "676222165679", nil},
		{"wrong check digit", "4111 1111 1111 1112", nil},
		{"epoch milliseconds that pass Luhn", `{"at_millis":1789000000007}`, nil},
		{"inside a longer run", `{"trace":"17890000000071789000000007"}`, nil},
		{"inside a longer run, by its beginning", "41111111111111110000000000", nil},
		{"fraction", "0.4111111111111111", nil},
		{"decimal", "4111111111111111.25", nil},
		{"in a word", "a4111111111111111", nil},
		{"in a word, after", "4111111111111111f", nil},
		{"order", `{"order_id":4111111111111111}`, nil},
		{"order in JSON in JSON", `{\"orderId\": \"4111111111111111\"}`, nil},
		{"order in a query", "?order_id=4111111111111111", nil},
		{"card in JSON in JSON", `{\"pan\": \"4111111111111111\"}`, only("card=4111111111111111")},
		{"zeros", "0000000000000000", nil},
		{"part of an id", "12-4111111111111111", nil},
		{"unlike groups", "411 11111 1111 1111", nil},
	})
}

func TestCardByName(t *testing.T) {
	s := scanner(t, Config{})
	for _, tt := range []struct {
		member string
		want   int
	}{
		{"order_id", 0},
		{"orderId", 0},
		{"id", 0},
		{"at_millis", 0},
		{"createdAt", 0},
		{"pan", 1},
		{"valid", 1},
		{"number", 1},
		{"", 1},
	} {
		if got := s.FindNamed(nil, []byte(tt.member), []byte("4111111111111111")); len(got) != tt.want {
			t.Errorf("under %q: %v", tt.member, got)
		}
	}
}
