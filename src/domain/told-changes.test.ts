import { equal } from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, MINUTE_MS } from "./time.ts";
import { audienceOf, nextMailTryAtMs, tellAtMs } from "./told-changes.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);

test("account changes go to the person, changes of a programme to its owners, everything else to nobody", () => {
	for (const action of ["password.changed", "authenticator.turned_off"]) equal(audienceOf(action), "person");
	for (const action of ["key.issued", "secret.activated", "postback_url.saved", "person.removed"])
		equal(audienceOf(action), "owners");
	for (const action of ["person.signed_in", "conversion.decided", "toString", ""])
		equal(audienceOf(action), undefined, action);
});

test("the first change is told at once, the next when the time since that mail is over", () => {
	equal(tellAtMs("owners", NOW_MS, null), NOW_MS);
	equal(tellAtMs("owners", NOW_MS, NOW_MS), NOW_MS + 15 * MINUTE_MS);
	equal(tellAtMs("owners", NOW_MS, NOW_MS - 15 * MINUTE_MS), NOW_MS);
	equal(tellAtMs("person", NOW_MS, NOW_MS), NOW_MS + MINUTE_MS);
});

test("a mail that is not taken is tried for about a day, and never beyond the time it is good for", () => {
	let atMs = NOW_MS;
	let tries = 0;
	for (
		let next: number | null = NOW_MS;
		next !== null;
		next = nextMailTryAtMs(tries, atMs, NOW_MS + 7 * DAY_MS)
	) {
		atMs = next;
		tries += 1;
	}
	equal(tries, 8);
	equal(atMs - NOW_MS > 0.9 * DAY_MS && atMs - NOW_MS < 1.1 * DAY_MS, true);
	equal(nextMailTryAtMs(1, NOW_MS, NOW_MS + MINUTE_MS), null);
	equal(nextMailTryAtMs(1, NOW_MS, NOW_MS + MINUTE_MS + 1), NOW_MS + MINUTE_MS);
});
