import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { ipv6Groups, readBlock, spellIpv4 } from "../../test/support/address-number.ts";
import {
	type AddressRange,
	type AddressVerdict,
	isAddress,
	judgeAddress,
	judgeAddresses,
	parseRange,
} from "./address.ts";

/** Network, first, last; then the neighbours before and after it, where they are public. */
type BlockCase = [cidr: string, first: string, last: string, before?: string | undefined, after?: string];

const IPV4_BLOCKS: BlockCase[] = [
	["0.0.0.0/8", "0.0.0.0", "0.255.255.255", undefined, "1.0.0.0"],
	["10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
	["100.64.0.0/10", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
	["127.0.0.0/8", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
	["169.254.0.0/16", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
	["172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
	["192.0.0.0/24", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
	["192.0.2.0/24", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
	["192.31.196.0/24", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"],
	["192.52.193.0/24", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"],
	["192.88.99.0/24", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
	["192.168.0.0/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
	["192.175.48.0/24", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"],
	["198.18.0.0/15", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
	["198.51.100.0/24", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
	["203.0.113.0/24", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
	["224.0.0.0/4", "224.0.0.0", "239.255.255.255", "223.255.255.255"],
	["240.0.0.0/4", "240.0.0.0", "255.255.255.254"],
	["255.255.255.255/32", "255.255.255.255", "255.255.255.255"],
];

const IPV6_BLOCKS: BlockCase[] = [
	["::/128", "::", "0:0:0:0:0:0:0:0"],
	["::1/128", "::1", "0:0:0:0:0:0:0:1"],
	["::/96", "::2", "::ffff:ffff"],
	["64:ff9b:1::/48", "64:ff9b:1::", end("64:ff9b:1")],
	["100::/64", "100::", end("100:0:0:0")],
	["100:0:0:1::/64", "100:0:0:1::", end("100:0:0:1")],
	["2001:2::/48", "2001:2::", end("2001:2:0")],
	["2001:3::/32", "2001:3::", end("2001:3")],
	["2001:4:112::/48", "2001:4:112::", end("2001:4:112")],
	["2001:10::/28", "2001:10::", end("2001:1f")],
	["2001:20::/28", "2001:20::", end("2001:2f")],
	["2001:30::/28", "2001:30::", end("2001:3f")],
	// Teredo has the first /32 of it.
	["2001::/23", "2001:1::", end("2001:1ff"), end("2000"), "2001:200::"],
	["2001:db8::/32", "2001:db8::", end("2001:db8"), end("2001:db7"), "2001:db9::"],
	["2620:4f:8000::/48", "2620:4f:8000::", end("2620:4f:8000"), end("2620:4f:7fff"), "2620:4f:8001::"],
	["3ffe::/16", "3ffe::", end("3ffe"), end("3ffd")],
	["3fff::/20", "3fff::", end("3fff:fff"), undefined, "3fff:1000::"],
	["5f00::/16", "5f00::", end("5f00")],
	["fc00::/7", "fc00::", end("fdff")],
	["fe80::/10", "fe80::", end("febf")],
	["fec0::/10", "fec0::", end("feff")],
	["ff00::/8", "ff00::", end("ffff")],
];

/** What is left outside 2000::/3 and the named blocks. */
const IPV6_GAPS: BlockCase[] = [
	["::/0", "::1:0:0", "::fffe:ffff:ffff"],
	["::/0", "::1:0:0:0", end("64:ff9a")],
	["::/0", "64:ff9b::1:0:0", end("64:ff9b:0")],
	["::/0", "64:ff9b:2::", end("ff")],
	["::/0", "100:0:0:2::", end("1fff"), undefined, "2000::"],
	["::/0", "4000::", end("5eff"), end("3fff")],
	["::/0", "5f01::", end("fbff")],
	["::/0", "fe00::", end("fe7f")],
];

/** Each form that carries an IPv4 address, spelt around it. */
const CARRIERS: Record<string, (ipv4: string) => string> = {
	"IPv4-mapped": (ipv4) => `::ffff:${ipv4}`,
	"IPv4-mapped in hex": (ipv4) => `::ffff:${hex(ipv4)}`,
	"6to4": (ipv4) => `2002:${hex(ipv4)}::1`,
	"6to4 with ISATAP behind a public relay": (ipv4) => `2002:808:808:1:0:5efe:${ipv4}`,
	"Teredo client": (ipv4) => `2001:0:808:808:8000:f227:${hex(invert(ipv4))}`,
	"Teredo server": (ipv4) => `2001:0:${hex(ipv4)}:8000:f227:${hex(invert("8.8.8.8"))}`,
	NAT64: (ipv4) => `64:ff9b::${ipv4}`,
	"NAT64 in hex": (ipv4) => `64:ff9b::${hex(ipv4)}`,
	ISATAP: (ipv4) => `2a00:1450::5efe:${ipv4}`,
	"ISATAP, universal": (ipv4) => `2a00:1450::200:5efe:${ipv4}`,
	"ISATAP, group": (ipv4) => `2a00:1450::300:5efe:${hex(ipv4)}`,
};

const ANY_128_BITS = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
const PUBLIC: AddressVerdict = { public: true };

test("an address at either edge of a reserved block is refused and the block is named", () => {
	for (const [cidr, first, last] of [...IPV4_BLOCKS, ...IPV6_BLOCKS, ...IPV6_GAPS]) {
		for (const address of [first, last]) {
			const reason = refusal(address);
			assert.ok(reason.startsWith(`${address} is in `), `${address}: ${reason}`);
			assert.ok(reason.endsWith(` (${cidr})`), `${address}: ${reason}`);
		}
	}
});

test("an address just outside a reserved block is public if no other block holds it", () => {
	for (const [cidr, , , before, after] of [...IPV4_BLOCKS, ...IPV6_BLOCKS, ...IPV6_GAPS]) {
		for (const address of [before, after]) {
			if (address !== undefined) assertPublic(address, `neighbour of ${cidr}`);
		}
	}
});

test("an ordinary address of the public internet is public", () => {
	const ipv4 = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "192.0.1.1", "223.255.255.254"];
	const ipv6 = ["2606:4700:4700::1111", "2001:4860:4860::8888", "2A00:1450:80B::200E", "2003::1"];
	for (const address of [...ipv4, ...ipv6]) assertPublic(address);
});

test("the reason names the address, what its network is, and the network", () => {
	assert.equal(refusal("10.0.0.5"), "10.0.0.5 is in a private network (10.0.0.0/8)");
	assert.equal(refusal("::1"), "::1 is in the loopback network (::1/128)");
	assert.equal(
		refusal("::ffff:a00:5"),
		"::ffff:a00:5 carries 10.0.0.5, which is in a private network (10.0.0.0/8)",
	);
});

test("an address that carries a public IPv4 address is public", () => {
	for (const [form, spell] of Object.entries(CARRIERS)) assertPublic(spell("9.9.9.9"), form);
});

test("an address that carries an IPv4 address of a reserved block is refused", () => {
	const inside = ["10.0.0.5", "127.0.0.1", "169.254.169.254", "100.64.0.1", "255.255.255.255"];
	for (const [form, spell] of Object.entries(CARRIERS)) {
		for (const ipv4 of inside) {
			const reason = refusal(spell(ipv4));
			assert.ok(reason.includes(` carries ${ipv4}, which is in `), `${form} ${ipv4}: ${reason}`);
		}
	}
});

test("an IPv4-compatible address is refused although the address in it is public: RFC 4291 gave the form up", () => {
	for (const text of ["::8.8.8.8", "::808:808", "0:0:0:0:0:0:9.9.9.9"]) {
		assert.equal(refusal(text), `${text} is in the former IPv4-compatible space (::/96)`);
	}
});

test("a prefix that is not public stays refused although the ISATAP address in it is public", () => {
	for (const prefix of ["fe80::", "fc00::", "2001:db8::", "100::", "64:ff9b:1::"]) {
		refusal(`${prefix}5efe:8.8.8.8`);
		refusal(`${prefix}200:5efe:8.8.8.8`);
	}
});

test("a Teredo address whose port looks like the ISATAP mark is judged as Teredo alone", () => {
	assertPublic(`2001:0:808:808:0:5efe:${hex(invert("8.8.8.8"))}`);
});

test("text that is not the plain form of an address is refused", () => {
	const texts = [
		...["", " ", "localhost", "example.com", "8.8.8", "8.8.2056", "134744072", "0x08080808"],
		...["010.8.8.8", "08.8.8.8", "8.8.8.08", "0x8.8.8.8", "8.8.8.8.", "8.8.8.8.8", ".8.8.8.8"],
		...["8..8.8", "256.8.8.8", "8.8.8.256", " 8.8.8.8", "8.8.8.8 ", "8.8.8.8\n", "8.8.8.8\0"],
		...["-8.8.8.8", "+8.8.8.8", "8.8.8.8/32", "8.8.8.8:443", "８.8.8.8", "٨.8.8.8", "[2a00::1]"],
		...["2a00::1%eth0", "2a00::1%25eth0", "fe80::1%1", "::ffff:8.8.8.8%1", "2a00::1/128"],
		...["2a00:::1", "2a00::1::2", ":2a00::1", "2a00::1:", "2a00:1", "2a00::12345", "2a00::g"],
		...["1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:8.8.8.8"],
		...["::ffff:8.8.8", "::ffff:08.8.8.8", "::ffff:0x8.8.8.8", "::ffff:8.8.8.256", "::8.8.8.8:1"],
		...["8.8.8.8::", "8.8.8.8::1", "0".repeat(10_000), ":".repeat(10_000), "8.".repeat(10_000)],
	];
	for (const text of texts) {
		const reason = refusal(text);
		assert.match(reason, / is not an IP address$/, JSON.stringify(text));
		assert.ok(reason.length < 350, `a bounded reason for ${JSON.stringify(text.slice(0, 20))}`);
	}
});

test("an allowed range lets through what is in it, plain or carried, and nothing else", () => {
	const allowed = ranges("127.0.0.0/8", "::1", "10.1.2.3", "fd00:1::/32");
	const good = ["127.0.0.1", "127.255.255.255", "::1", "10.1.2.3", "fd00:1::9", "8.8.8.8", "2a00::1"];
	const bad = ["10.1.2.2", "10.1.2.4", "127.0.0.1%1", "0.0.0.0", "::", "fd00:2::1", "fe80::5efe:127.0.0.1"];
	for (const address of good) assert.deepEqual(judgeAddress(address, allowed), PUBLIC, address);
	for (const address of bad) assert.equal(judgeAddress(address, allowed).public, false, address);
	for (const [form, spell] of Object.entries(CARRIERS)) {
		assert.deepEqual(judgeAddress(spell("127.0.0.1"), allowed), PUBLIC, form);
		assert.equal(judgeAddress(spell("10.1.2.4"), allowed).public, false, form);
	}
});

test("a Teredo address with an allowed client is refused for a private server", () => {
	const address = `2001:0:${hex("10.0.0.5")}:8000:f227:${hex(invert("127.0.0.1"))}`;
	assert.equal(judgeAddress(address, ranges("127.0.0.0/8")).public, false);
});

test("an allowed IPv6 range says nothing of IPv4 addresses, and the other way round", () => {
	assert.equal(judgeAddress("10.0.0.5", ranges("::/0")).public, false);
	assert.equal(judgeAddress("fd00::1", ranges("0.0.0.0/0")).public, false);
});

test("a list of addresses is public if every one is, and not if it is empty", () => {
	assert.deepEqual(judgeAddresses(["8.8.8.8", "2a00::1"], []), PUBLIC);
	assert.equal(judgeAddresses([], []).public, false);
	assert.equal(judgeAddresses([], ranges("0.0.0.0/0", "::/0")).public, false);
});

test("one bad address among good ones refuses the list with the verdict of the first bad one", () => {
	const verdict = judgeAddresses(["8.8.8.8", "10.0.0.5", "127.0.0.1", "9.9.9.9"], []);
	assert.deepEqual(verdict, judgeAddress("10.0.0.5", []));
});

test("a range is a network or a bare address and keeps its text", () => {
	const cases: [string, number][] = [
		["10.0.0.0/8", 8],
		["0.0.0.0/0", 0],
		["10.0.0.5", 32],
		["127.0.0.1/8", 8],
		["fd00::/8", 8],
		["::/0", 0],
		["::1", 128],
		["::1/128", 128],
	];
	for (const [text, prefixBits] of cases) {
		const range = parseRange(text);
		assert.deepEqual([range?.text, range?.prefixBits], [text, prefixBits], text);
	}
});

test("text that is not a network is no range", () => {
	const texts = [
		...["", "/", "/8", "10/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8"],
		...["10.0.0.0/255.0.0.0", " 10.0.0.0/8", "10.0.0.0/8 ", "10.0.0.0/8\n", "0xa.0.0.0/8", "localhost"],
		...["::/129", "::1%lo/128", "[::1]/128", "::/1000", "::/x"],
	];
	for (const text of texts) assert.equal(parseRange(text), undefined, JSON.stringify(text));
});

test("property: an address inside a reserved block is never public, however deep in it", () => {
	const blocks = [...IPV4_BLOCKS, ...IPV6_BLOCKS];
	fc.assert(
		fc.property(fc.constantFrom(...blocks), ANY_128_BITS, ([cidr], random) => {
			const address = pick(cidr, random);
			fc.pre(!address.startsWith("2001:0000:"));
			assert.equal(judgeAddress(address, []).public, false, address);
		}),
		{ numRuns: 3_000 },
	);
});

test("property: an IPv6 address outside 2000::/3 is never public unless it carries an IPv4 address", () => {
	fc.assert(
		fc.property(ANY_128_BITS, (value) => {
			const isCarrier = value >> 32n === 0xffffn || value >> 32n === 0x64ff9bn << 64n;
			fc.pre(value >> 125n !== 1n && !isCarrier);
			assert.equal(judgeAddress(spellIpv6(value), []).public, false, spellIpv6(value));
		}),
		{ numRuns: 2_000 },
	);
});

test("property: a carrier's verdict is the verdict on the address inside", () => {
	const reserved = fc
		.tuple(fc.constantFrom(...IPV4_BLOCKS), ANY_128_BITS)
		.map(([[cidr], random]) => pick(cidr, random));
	fc.assert(
		fc.property(fc.constantFrom(...Object.values(CARRIERS)), fc.oneof(fc.ipV4(), reserved), (spell, ipv4) => {
			assert.equal(judgeAddress(spell(ipv4), []).public, judgeAddress(ipv4, []).public, spell(ipv4));
		}),
		{ numRuns: 3_000 },
	);
});

test("property: what is read as an address is what the system reads as one, zones aside", () => {
	const soup = fc.string({ unit: fc.constantFrom(..."0125aFx:.%") });
	const pieces = ["1", "ffff", "0", ":", "::", "1.2.3.4", "01.2.3.4", ".", "255", "%1"];
	const joined = fc.array(fc.constantFrom(...pieces)).map((some) => some.join(""));
	const text = fc.oneof(soup, joined, fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), fc.string());
	fc.assert(
		fc.property(text, (any) => {
			assert.equal(isAddress(any), isIP(any) !== 0 && !any.includes("%"), JSON.stringify(any));
		}),
		{ numRuns: 10_000 },
	);
});

function assertPublic(address: string, note = ""): void {
	const verdict = judgeAddress(address, []);
	assert.equal(verdict.public, true, `${address} ${note} ${JSON.stringify(verdict)}`);
}

function refusal(address: string): string {
	const verdict = judgeAddress(address, []);
	if (verdict.public) assert.fail(`${JSON.stringify(address)} must not be public`);
	return verdict.reason;
}

function ranges(...texts: string[]): AddressRange[] {
	return texts.map((text) => parseRange(text) ?? assert.fail(`${text} is no range`));
}

/** The last address that begins with these groups. */
function end(start: string): string {
	return [...start.split(":"), ...Array<string>(8).fill("ffff")].slice(0, 8).join(":");
}

function hex(ipv4: string): string {
	const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
	return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function invert(ipv4: string): string {
	return ipv4
		.split(".")
		.map((byte) => 255 - Number(byte))
		.join(".");
}

/** An address of the network, its host bits from `random`; reckoned without the code under test. */
function pick(cidr: string, random: bigint): string {
	const { family, value, hostBits } = readBlock(cidr);
	const picked = value + (random & ((1n << hostBits) - 1n));
	return family === 6 ? spellIpv6(picked) : spellIpv4(picked);
}

function spellIpv6(value: bigint): string {
	return ipv6Groups(value)
		.map((group) => group.padStart(4, "0"))
		.join(":");
}
