// Who can raise a warning, who cannot, and how long it stays.

import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { Arrival, WarningSettings } from "../domain/warning.ts";
import { createInstallationWatch, type ProvenCaller } from "./installation-watch.ts";

const SETTINGS: WarningSettings = {
	publicUrl: "http://localhost:8080",
	trustedProxies: [],
	hasMail: true,
	allowsPrivateRanges: false,
};
const STAFF: ProvenCaller = { isStaff: true, name: "person 1" };
const OWN: Arrival = {
	socketAddress: "127.0.0.1",
	host: "localhost:8080",
	forwardedFor: undefined,
	forwarded: undefined,
	forwardedProto: undefined,
};
const PLAIN: Arrival = { ...OWN, host: "rb.example" };
const PROXIED: Arrival = { ...OWN, socketAddress: "10.0.0.2", forwardedFor: "203.0.113.9" };

function open(settings: Partial<WarningSettings> = {}) {
	const clock = { atMs: 0, offsetMs: 0 };
	const log = createLog();
	const watch = createInstallationWatch(
		{
			clock: { nowMs: () => clock.atMs },
			log,
			knownChores: () => [],
			clockOffsetMs: () => clock.offsetMs,
			deliveryPause: () => null,
		},
		{ ...SETTINGS, ...settings },
	);
	const moveBy = (ms: number): void => {
		clock.atMs += ms;
	};
	const shown = (arrival: Arrival = OWN) => watch.warningsFor(arrival).map(({ kind }) => kind);
	const setOffset = (ms: number): void => {
		clock.offsetMs = ms;
	};
	return { watch, log, shown, moveBy, setOffset };
}

const owner = (number: number): ProvenCaller => ({ isStaff: false, name: `person ${number}` });

test("what staff did themselves is shown and logged at once", () => {
	const { watch, log, shown } = open();
	watch.note(PLAIN, STAFF);
	watch.note(PROXIED, STAFF);
	deepEqual(shown(), ["plain_http", "untrusted_proxy"]);
	deepEqual(
		log.lines.map(({ level, fields }) => [level, fields]),
		[
			["warn", { kind: "plain_http", where: "rb.example" }],
			["warn", { kind: "untrusted_proxy", where: "10.0.0.2" }],
		],
	);
	match(log.lines[1]?.message ?? "", /add 10\.0\.0\.2 to RINGBACK_TRUSTED_PROXIES/);
});

test("one owner raises nothing, however often; three different ones do", () => {
	const { watch, log, shown } = open();
	for (let n = 0; n < 1_000; n++) watch.note(PROXIED, owner(2));
	watch.note(PROXIED, owner(3));
	deepEqual([shown(), log.lines.length], [[], 0]);
	watch.note(PROXIED, owner(4));
	deepEqual([shown(), log.lines.length], [["untrusted_proxy"], 1]);
});

test("each kind is logged once an hour, whatever hosts and addresses are made up", () => {
	const { watch, log, moveBy } = open();
	for (let n = 0; n < 500; n++) watch.note({ ...OWN, host: `made-up-${n}.example` }, STAFF);
	equal(log.lines.length, 1);
	moveBy(HOUR_MS - 1);
	watch.note(PLAIN, STAFF);
	equal(log.lines.length, 1);
	moveBy(1);
	watch.note(PLAIN, STAFF);
	equal(log.lines.length, 2);
});

test("what is not seen for an hour is gone, and callers from before do not count any more", () => {
	const { watch, shown, moveBy } = open();
	watch.note(PROXIED, STAFF);
	moveBy(HOUR_MS - 1);
	deepEqual(shown(), ["untrusted_proxy"]);
	moveBy(1);
	deepEqual(shown(), []);
	watch.note(PROXIED, owner(2));
	deepEqual(shown(), []);
});

test("it remembers a few, the latest, and takes no more memory than that", () => {
	const { watch } = open();
	for (let n = 0; n < 500; n++) watch.note({ ...OWN, host: `made-up-${n}.example` }, STAFF);
	const titles = watch.warningsFor(OWN).map(({ title }) => title);
	equal(titles.length, 16);
	match(titles.at(-1) ?? "", /made-up-499\.example$/);
});

test("without PUBLIC_URL staff are told wherever they came by, except on the machine itself", () => {
	const { shown } = open({ publicUrl: null, hasMail: false, allowsPrivateRanges: true });
	for (const host of ["localhost:8080", "app.localhost", "127.0.0.1:8080", "[::1]:8080"]) {
		deepEqual(shown({ ...OWN, host }), ["mail_off"], host);
	}
	for (const host of [
		"rb.example",
		"rb.corp.internal",
		"ringback",
		"10.1.2.3:8080",
		"[fd00::1]",
		undefined,
	]) {
		deepEqual(shown({ ...OWN, host }), ["no_public_url", "mail_off"], host ?? "no host");
	}
});

test("a plain PUBLIC_URL is said once, also when requests show it too", () => {
	const { watch, shown } = open({ publicUrl: "http://rb.example" });
	watch.note(PLAIN, STAFF);
	deepEqual(shown(), ["plain_http"]);
});

test("a clock more than five seconds off is shown, on either side, until it is right again", () => {
	const { watch, shown, setOffset } = open();
	for (const offsetMs of [-5_000, 0, 5_000]) {
		setOffset(offsetMs);
		deepEqual(shown(), [], `${offsetMs} ms`);
	}
	setOffset(5_001);
	deepEqual(shown(), ["clock_off"]);
	setOffset(-29_000);
	const [warning] = watch.warningsFor(OWN);
	equal(warning?.title, "This machine's clock is 29.0 s behind the database server's");
	match(
		warning?.text ?? "",
		/go by the database server's clock.* authenticator codes may be refused\..* set by NTP/,
	);
	doesNotMatch(warning?.text ?? "", /not ready|wrong/);
	for (const offsetMs of [60_000, -60_000]) {
		setOffset(offsetMs);
		deepEqual(watch.warningsFor(OWN)[0]?.text, warning?.text, `${offsetMs} ms`);
	}
	for (const offsetMs of [60_001, -60_001]) {
		setOffset(offsetMs);
		const { title = "", text = "" } = watch.warningsFor(OWN)[0] ?? {};
		match(title, /^This machine's clock is 60\.0 s (?:ahead of|behind) the database server's$/);
		match(
			text,
			/cannot know which\. Until they agree again it is not ready, sends no callbacks, decides nothing by/,
		);
		match(
			text,
			/goes on by itself, and nothing is lost\. Keep the clocks of this machine and of the database server/,
		);
	}
	setOffset(0);
	deepEqual(shown(), []);
});
