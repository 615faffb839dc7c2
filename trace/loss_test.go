package trace

import "testing"

func TestLossTotalsBalance(t *testing.T) {
	var totals LossTotals
	totals.Add(&CaptureWindow{ExchangesSeen: 10, ExchangesWritten: 4, DroppedSanitizer: 1, OpenAtEnd: 5, LostByReason: map[string]int64{"gap": 7}})
	if !totals.Balanced() {
		t.Errorf("after the first window: %+v does not balance", totals)
	}
	totals.Add(&CaptureWindow{ExchangesSeen: 1, ExchangesWritten: 6, OpenAtEnd: 0, LostByReason: map[string]int64{"gap": 1, "snaplen": 2}})
	if !totals.Balanced() {
		t.Errorf("at the end: %+v does not balance", totals)
	}
	if totals.LostByReason["gap"] != 8 || totals.LostByReason["snaplen"] != 2 {
		t.Errorf("LostByReason = %v, want gap 8, snaplen 2", totals.LostByReason)
	}
	totals.Add(&CaptureWindow{ExchangesSeen: 1})
	if totals.Balanced() {
		t.Error("an exchange that was seen and then lost still balances")
	}
}
