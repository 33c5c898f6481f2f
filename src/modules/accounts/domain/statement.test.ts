import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import {
	checkMonthIsOver,
	checkPaidOn,
	isCarriedForward,
	monthBefore,
	monthEndMs,
	monthIn,
	parseMonth,
	parsePaidOn,
	parseReference,
	totalOf,
	writeNumber,
} from "./statement.ts";

test("the total is the opening balance plus what was earned, changed and adjusted, in any number of decimals", () => {
	equal(totalOf({ opening: "-3.10", earned: "12.50", changed: "-20.00", adjusted: "0.05" }), "-10.55");
	equal(totalOf({ opening: "0", earned: "1500", changed: "-1", adjusted: "0" }), "1499");
	equal(totalOf({ opening: "0.999", earned: "0.001", changed: "0.000", adjusted: "0.000" }), "1.000");
});

test("a total is carried forward if it is not positive or below the minimum payout", () => {
	const cases: [total: string, minimum: string | undefined, isCarried: boolean][] = [
		["0.01", undefined, false],
		["0.00", undefined, true],
		["-5.00", undefined, true],
		["24.99", "25.00", true],
		["25.00", "25.00", false],
		["-30.00", "25.00", true],
		["2999", "3000", true],
		["1.000", "1.000", false],
	];
	for (const [total, minimum, isCarried] of cases) equal(isCarriedForward(total, minimum), isCarried, total);
});

test("numbers have at least four digits", () => {
	deepEqual([writeNumber(2026, 1), writeNumber(2026, 12_345)], ["2026-0001", "2026-12345"]);
});

test("a month is a year and a month, and everything else is refused", () => {
	deepEqual(parseMonth(" 2026-10 "), { ok: true, value: "2026-10" });
	for (const text of ["", "2026-13", "2026-00", "2026-1", "10/2026", "2026-10-01", "0026-10"]) {
		const parsed = parseMonth(text);
		ok(!parsed.ok && parsed.fault.code === "invalid_month", text);
	}
});

test("the end of a month depends on the time zone and on the change of clocks", () => {
	equal(monthEndMs("2026-10", "UTC"), Date.UTC(2026, 10, 1));
	equal(monthEndMs("2026-10", "Europe/Berlin"), Date.UTC(2026, 9, 31, 23));
	equal(monthEndMs("2026-09", "Europe/Berlin"), Date.UTC(2026, 8, 30, 22));
	equal(monthEndMs("2026-12", "America/New_York"), Date.UTC(2027, 0, 1, 5));
	equal(monthIn(Date.UTC(2026, 9, 31, 23), "Europe/Berlin"), "2026-11");
	equal(monthBefore("2026-01"), "2025-12");
});

test("a month that is not over in the network's zone is refused, until its last millisecond has passed", () => {
	const endMs = Date.UTC(2026, 9, 31, 23);
	ok(checkMonthIsOver("2026-10", "Europe/Berlin", endMs).ok);
	const early = checkMonthIsOver("2026-10", "Europe/Berlin", endMs - 1);
	ok(!early.ok);
	equal(early.fault.code, "month_not_over");
	equal(
		early.fault.detail,
		"October 2026 is not over yet in the network's time zone (Europe/Berlin). Choose September 2026 or an earlier month.",
	);
});

test("the day of a payment is read as banks write it, and a day that does not exist is refused", () => {
	for (const text of ["2026-11-08", "08.11.2026", "8/11/2026"]) {
		deepEqual(parsePaidOn(text), { ok: true, value: "2026-11-08" });
	}
	for (const text of ["", "2026-02-30", "31.11.2026", "tomorrow", "2026-11"]) {
		const parsed = parsePaidOn(text);
		ok(!parsed.ok && parsed.fault.code === "invalid_date", text);
	}
});

test("a payment is neither in the future nor before the month of the issue", () => {
	const statement = { number: "2026-0001", issued_at_ms: Date.UTC(2026, 10, 20) };
	const nowMs = Date.UTC(2026, 10, 25, 23, 30);
	const judge = (day: string, zone = "UTC") => checkPaidOn(day, statement, zone, nowMs).ok;
	deepEqual(
		["2026-10-31", "2026-11-01", "2026-11-25", "2026-11-26"].map((day) => judge(day)),
		[false, true, true, false],
	);
	ok(judge("2026-11-26", "Europe/Berlin"), "in Berlin it is the next day already");
});

test("a reference is one line of limited length", () => {
	deepEqual(parseReference(" SEPA 1 "), { ok: true, value: "SEPA 1" });
	for (const text of ["a\nb", "x".repeat(141)]) equal(parseReference(text).ok, false);
});
