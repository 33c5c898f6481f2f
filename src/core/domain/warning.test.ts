// Tests which requests reveal a problem of the installation to staff, and which must not alarm anybody.

import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { parseRange } from "./address.ts";
import { type Arrival, isPublicHost, judgeArrival, type Sighting, type WarningSettings } from "./warning.ts";

const PROXY = "10.0.0.2";
const SETTINGS: WarningSettings = {
	publicUrl: null,
	trustedProxies: [],
	hasMail: true,
	allowsPrivateRanges: false,
	isOnFile: false,
	backupDays: 3,
};
const HTTPS: WarningSettings = { ...SETTINGS, publicUrl: "https://ringback.example" };
const TRUSTING: WarningSettings = {
	...SETTINGS,
	trustedProxies: [PROXY].flatMap((text) => parseRange(text) ?? []),
};

const NOTHING: Arrival = {
	socketAddress: "203.0.113.9",
	host: undefined,
	forwardedFor: undefined,
	forwarded: undefined,
	forwardedProto: undefined,
};
const plainAt = (where: string): Sighting => ({ kind: "plain_http", where });
const proxyAt = (where: string): Sighting => ({ kind: "untrusted_proxy", where });

describe("how a request arrived", () => {
	const cases: readonly [
		title: string,
		arrival: Partial<Arrival>,
		settings: WarningSettings,
		Sighting | null,
	][] = [
		["plainly to a public name", { host: "rb.example:8080" }, SETTINGS, plainAt("rb.example")],
		["plainly to a public address", { host: "93.184.215.14" }, SETTINGS, plainAt("93.184.215.14")],
		["plainly to this machine", { host: "localhost:8080" }, SETTINGS, null],
		["plainly to a private address", { host: "192.168.1.5:8080" }, SETTINGS, null],
		["without a Host", {}, SETTINGS, null],
		["with a Host that is none", { host: "<script>alert(1)</script>" }, SETTINGS, null],
		["to a public name, with an https PUBLIC_URL", { host: "rb.example" }, HTTPS, null],
		[
			"to a public name, with an http PUBLIC_URL",
			{ host: "rb.example" },
			{ ...SETTINGS, publicUrl: "http://rb.example" },
			plainAt("rb.example"),
		],
		[
			"over a trusted proxy that had it over HTTPS",
			{ socketAddress: PROXY, host: "rb.example", forwardedFor: "203.0.113.9", forwardedProto: "https" },
			TRUSTING,
			null,
		],
		[
			"over a trusted proxy that says so in the standard header",
			{ socketAddress: PROXY, host: "rb.example", forwarded: 'for=203.0.113.9;proto="https"' },
			TRUSTING,
			null,
		],
		[
			"over a trusted proxy that had it over plain HTTP",
			{ socketAddress: PROXY, host: "rb.example", forwardedFor: "203.0.113.9", forwardedProto: "http" },
			TRUSTING,
			plainAt("rb.example"),
		],
		[
			"over a trusted proxy that does not say",
			{ socketAddress: PROXY, host: "rb.example", forwardedFor: "203.0.113.9" },
			TRUSTING,
			plainAt("rb.example"),
		],
		[
			"from somebody who only claims to have come over HTTPS",
			{ host: "rb.example", forwardedProto: "https" },
			TRUSTING,
			plainAt("rb.example"),
		],
		[
			"over a proxy that nobody trusts",
			{ socketAddress: PROXY, forwardedFor: "a" },
			SETTINGS,
			proxyAt(PROXY),
		],
		["the same, with the standard header", { socketAddress: PROXY, forwarded: "" }, HTTPS, proxyAt(PROXY)],
		[
			"over another proxy than the trusted one",
			{ socketAddress: "::ffff:10.0.0.3", host: "rb.example", forwardedFor: "a", forwardedProto: "https" },
			TRUSTING,
			proxyAt("10.0.0.3"),
		],
		["in process, with no socket", { socketAddress: undefined, host: "rb.example" }, SETTINGS, null],
	];
	for (const [title, arrival, settings, expected] of cases) {
		test(title, () => deepEqual(judgeArrival({ ...NOTHING, ...arrival }, settings), expected));
	}
});

describe("whether a host is public", () => {
	const PUBLIC = [
		"ringback.example",
		"Ringback.Example.:443",
		"a.b.c.example",
		"[2606:2800:220:1::1]:8080",
		"8.8.8.8",
	];
	const PRIVATE = [
		"localhost",
		"LOCALHOST:8080",
		"app.localhost",
		"ringback",
		"ringback.local",
		"rb.corp.internal",
		"printer.home.arpa",
		"rb.test",
		"127.0.0.1:8080",
		"10.1.2.3",
		"172.16.0.1",
		"[::1]:8080",
		"[fd00::1]",
		"",
		":8080",
		"a b.example",
		"a..example",
		'"><img.example',
		`${"a.".repeat(130)}example`,
	];
	for (const host of PUBLIC) test(`${host} is`, () => equal(isPublicHost(host), true));
	for (const host of PRIVATE) test(`${host.slice(0, 30)} is not`, () => equal(isPublicHost(host), false));
});
