import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { isoTime } from "#core/domain/time.ts";
import { lastWeeklyMs } from "#core/domain/zone-day.ts";
import { dueOf, newsOfMove } from "./sale-news.ts";

test("every move that concerns a partner is news, and a pixel's report becomes news when the server confirms it", () => {
	const news = (["record", "confirm", "credit", "approve", "reject", "reverse", "refund"] as const).map(
		(move) => newsOfMove(move, "postback"),
	);
	deepEqual(news, ["recorded", "recorded", "credited", "approved", "rejected", "reversed", "refunded"]);
	for (const move of ["park", "expire", "import"] as const) equal(newsOfMove(move, "postback"), null);
	equal(newsOfMove("record", "pixel"), null);
	equal(newsOfMove("confirm", "pixel"), "recorded");
});

test("a summary is due ten minutes after the day in the network's zone, and a mail for each sale at once", () => {
	const at = Date.UTC(2026, 9, 31, 23, 30);
	deepEqual(dueOf(at, "each", "Europe/Berlin"), { day: "2026-11-01", dueAtMs: at });
	const { day, dueAtMs } = dueOf(at, "daily", "Europe/Berlin");
	deepEqual([day, isoTime(dueAtMs)], ["2026-11-01", "2026-11-01T23:10:00.000Z"]);
	equal(dueOf(at, "daily", "UTC").day, "2026-10-31");
});

for (const [now, zone, due] of [
	["2026-11-16T07:00:00.000Z", "Europe/Berlin", "2026-11-16T07:00:00.000Z"],
	["2026-11-16T06:59:59.999Z", "Europe/Berlin", "2026-11-09T07:00:00.000Z"],
	["2026-11-18T10:00:00.000Z", "UTC", "2026-11-16T08:00:00.000Z"],
	["2026-11-22T23:59:59.999Z", "UTC", "2026-11-16T08:00:00.000Z"],
	["2026-10-26T12:00:00.000Z", "Europe/Berlin", "2026-10-26T07:00:00.000Z"],
	["2026-10-25T12:00:00.000Z", "Europe/Berlin", "2026-10-19T06:00:00.000Z"],
] as const) {
	test(`at ${now} the weekly mails in ${zone} were last due at ${due}`, () => {
		equal(isoTime(lastWeeklyMs(Date.parse(now), zone)), due);
	});
}
