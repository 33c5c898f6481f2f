// These tests show which requests and facts cause a warning, and how long the warning stays.

import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { ChoreRecord } from "#core/domain/chore.ts";
import { NO_ENGINE, type ProcessRecord } from "#core/domain/process.ts";
import { HOUR_MS } from "#core/domain/time.ts";
import type { Arrival, WarningSettings } from "#core/domain/warning.ts";
import { NOTHING_READ, type SystemReading } from "#core/store/queries/system.ts";
import { makeInstallation } from "../../test/support/app-deps.ts";
import { createLog } from "../../test/support/log.ts";

const SETTINGS: WarningSettings = {
	publicUrl: "http://localhost:8080",
	trustedProxies: [],
	hasMail: true,
	allowsPrivateRanges: false,
	isOnFile: false,
	backupDays: 3,
};
const OWN: Arrival = {
	socketAddress: "127.0.0.1",
	host: "localhost:8080",
	forwardedFor: undefined,
	forwarded: undefined,
	forwardedProto: undefined,
};
const PROCESS: ProcessRecord = {
	...NO_ENGINE,
	instance: "0a1b2c3d",
	host: "one",
	role: "all",
	version: "1.0.0",
	started_at_ms: 0,
	seen_at_ms: 0,
	mail_failed_at_ms: null,
	mail_error: null,
};
const PLAIN: Arrival = { ...OWN, host: "rb.example" };
const PROXIED: Arrival = { ...OWN, socketAddress: "10.0.0.2", forwardedFor: "203.0.113.9" };

function open(settings: Partial<WarningSettings> = {}, read: Partial<SystemReading> = {}) {
	let atMs = 0;
	const log = createLog();
	const watch = makeInstallation({
		clock: { nowMs: () => atMs },
		log,
		settings: { ...SETTINGS, ...settings },
		readSystem: async () => ({ ...NOTHING_READ, ...read }),
	});
	const moveBy = (ms: number): void => {
		atMs += ms;
	};
	const shown = (arrival: Arrival = OWN) => watch.warningsFor(arrival).map(({ kind }) => kind);
	return { watch, log, shown, moveBy, read };
}

test("a problem that a request of staff reveals is shown at once", () => {
	const { watch, shown } = open();
	watch.note(PLAIN);
	watch.note(PROXIED);
	deepEqual(shown(), ["untrusted_proxy", "plain_http"]);
});

test("a problem is logged once when it begins, however many hosts are made up, and once when it is over", async () => {
	const { watch, log, moveBy } = open();
	for (let n = 0; n < 500; n++) watch.note({ ...OWN, host: `made-up-${n}.example` });
	await watch.look();
	await watch.look();
	watch.note(PLAIN);
	await watch.look();
	moveBy(HOUR_MS);
	await watch.look();
	deepEqual(
		log.lines.map(({ level, fields, message }) => [level, fields, message.slice(0, 38)]),
		[
			["warn", { kind: "plain_http" }, "Ringback is used over plain HTTP at ma"],
			["info", { kind: "plain_http" }, "over: Ringback is used over plain HTTP"],
		],
	);
});

test("a problem that can disappear by itself is logged when two runs in a row have found it", async () => {
	const late: ChoreRecord = {
		name: "approvals",
		since_ms: -HOUR_MS,
		last_success_ms: null,
		working_at_ms: null,
		last_failure_ms: null,
		failures: 1,
		error: "no room.",
	};
	const { watch, log, read } = open({ hasMail: false }, { chores: [late] });
	const logged = () => log.lines.map(({ level, fields }) => `${level} ${Object.values(fields).join(" ")}`);
	await watch.look();
	deepEqual(logged(), ["warn mail_off"]);
	read.chores = [];
	await watch.look();
	read.chores = [late];
	await watch.look();
	deepEqual(logged(), ["warn mail_off"]);
	await watch.look();
	deepEqual(logged(), ["warn mail_off", "warn chore_late approvals"]);
	read.chores = [];
	await watch.look();
	deepEqual(logged().at(-1), "info chore_late");
});

test("if nothing can be read, the old facts remain and the failure is logged", async () => {
	const log = createLog();
	const readSystem = () => Promise.reject(new Error("away"));
	const watch = makeInstallation({ clock: { nowMs: () => 0 }, log, readSystem });
	await watch.look();
	deepEqual(watch.warningsFor(OWN), []);
	equal(log.lines[0]?.message, "the state of the other processes could not be read");
});

test("an outage of the database makes no process silent, neither during it nor before all have reported again", async () => {
	let atMs = 0;
	let isAway = false;
	let seenAtMs = 0;
	const readSystem = async (): Promise<SystemReading> => {
		if (isAway) throw new Error("away");
		return { ...NOTHING_READ, processes: [{ ...PROCESS, seen_at_ms: seenAtMs }] };
	};
	const watch = makeInstallation({ clock: { nowMs: () => atMs }, log: createLog(), readSystem });
	const shown = async () => {
		await watch.look();
		return watch.warningsFor(OWN).map(({ kind }) => kind);
	};
	deepEqual(await shown(), []);
	isAway = true;
	atMs += HOUR_MS;
	deepEqual(await shown(), [], "nobody can report");
	isAway = false;
	deepEqual(await shown(), [], "it has not reported yet");
	atMs += 59_000;
	deepEqual(await shown(), []);
	seenAtMs = atMs;
	atMs += 30_000;
	deepEqual(await shown(), []);
	atMs += 60_000;
	deepEqual(await shown(), ["process_silent"], "it has not reported for 90 seconds");
});

test("a problem that no request revealed for an hour is over", () => {
	const { watch, shown, moveBy } = open();
	watch.note(PROXIED);
	moveBy(HOUR_MS - 1);
	deepEqual(shown(), ["untrusted_proxy"]);
	moveBy(1);
	deepEqual(shown(), []);
});

test("only the 16 newest problems are remembered", () => {
	const { watch } = open();
	for (let n = 0; n < 500; n++) watch.note({ ...OWN, host: `made-up-${n}.example` });
	const titles = watch.warningsFor(OWN).map(({ title }) => title);
	equal(titles.length, 16);
	match(titles.at(-1) ?? "", /made-up-499\.example$/);
});

test("without PUBLIC_URL staff are warned, except if they open the service on the machine itself", () => {
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

test("a plain PUBLIC_URL is shown once, even if requests reveal it too", () => {
	const { watch, shown } = open({ publicUrl: "http://rb.example" });
	watch.note(PLAIN);
	deepEqual(shown(), ["plain_http"]);
});
