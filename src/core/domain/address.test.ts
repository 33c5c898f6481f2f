import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import {
	CARRIER_PREFIXES,
	CARRIERS,
	hex,
	IPV4_BLOCKS,
	IPV6_BLOCKS,
	invert,
} from "../../../test/support/address-blocks.ts";
import { ipv6Groups, readBlock, spellIpv4 } from "../../../test/support/address-number.ts";
import {
	type AddressRange,
	type AddressVerdict,
	isAddress,
	judgeAddress,
	judgeAddresses,
	parseRange,
} from "./address.ts";

const BLOCKS = [...IPV4_BLOCKS, ...IPV6_BLOCKS];
const ANY_128_BITS = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
const PUBLIC: AddressVerdict = { public: true };

test("an address of a reserved block is refused, and its neighbours are public", () => {
	for (const { cidr, addresses } of [...BLOCKS, ...CARRIER_PREFIXES]) {
		for (const [address, verdict] of addresses) {
			if (verdict === null) assertPublic(address, `neighbour of ${cidr}`);
			else assert.ok(refusal(address).includes(verdict), `${address}: ${refusal(address)}`);
		}
	}
});

test("the reason names the address and the kind of its block", () => {
	assert.equal(refusal("10.0.0.5"), "10.0.0.5 is not public (private)");
	assert.equal(refusal("fe80::1"), "fe80::1 is not public (link local)");
	assert.equal(refusal("::ffff:a00:5"), "::ffff:a00:5 carries 10.0.0.5, which is not public (private)");
});

test("a prefix that is not public stays refused although the ISATAP address in it is public", () => {
	for (const prefix of ["fe80::", "fc00::", "2001:db8::", "100::", "64:ff9b:1::"]) {
		refusal(`${prefix}5efe:8.8.8.8`);
		refusal(`${prefix}200:5efe:8.8.8.8`);
	}
});

test("a Teredo address whose port looks like the ISATAP mark is judged as Teredo only", () => {
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

test("an allowed range admits the addresses in it, plain or embedded, and nothing else", () => {
	const allowed = ranges("127.0.0.0/8", "::1", "10.1.2.3", "fd00:1::/32");
	const good = ["127.0.0.1", "127.255.255.255", "::1", "10.1.2.3", "fd00:1::9", "8.8.8.8", "2a00::1"];
	const bad = ["10.1.2.2", "10.1.2.4", "127.0.0.1%1", "0.0.0.0", "::", "fd00:2::1", "fe80::5efe:127.0.0.1"];
	for (const address of good) assert.deepEqual(judgeAddress(address, allowed), PUBLIC, address);
	for (const address of bad) assert.equal(judgeAddress(address, allowed).public, false, address);
	for (const { form, spell } of CARRIERS) {
		assert.deepEqual(judgeAddress(spell("127.0.0.1"), allowed), PUBLIC, form);
		assert.equal(judgeAddress(spell("10.1.2.4"), allowed).public, false, form);
	}
});

test("a Teredo address with an allowed client is refused for a private server", () => {
	const address = `2001:0:${hex("10.0.0.5")}:8000:f227:${hex(invert("127.0.0.1"))}`;
	assert.equal(judgeAddress(address, ranges("127.0.0.0/8")).public, false);
});

test("an allowed IPv6 range does not cover IPv4 addresses, and the other way round", () => {
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

test("a range is a network or a single address, and keeps its text", () => {
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

test("text that is not a network is not a range", () => {
	const texts = [
		...["", "/", "/8", "10/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8"],
		...["10.0.0.0/255.0.0.0", " 10.0.0.0/8", "10.0.0.0/8 ", "10.0.0.0/8\n", "0xa.0.0.0/8", "localhost"],
		...["::/129", "::1%lo/128", "[::1]/128", "::/1000", "::/x"],
	];
	for (const text of texts) assert.equal(parseRange(text), undefined, JSON.stringify(text));
});

test("property: an address inside a reserved block is never public, however deep in it", () => {
	fc.assert(
		fc.property(fc.constantFrom(...BLOCKS), ANY_128_BITS, ({ cidr }, random) => {
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

test("property: the verdict on an embedding address is the verdict on the address inside", () => {
	const reserved = fc
		.tuple(fc.constantFrom(...IPV4_BLOCKS), ANY_128_BITS)
		.map(([{ cidr }, random]) => pick(cidr, random));
	fc.assert(
		fc.property(fc.constantFrom(...CARRIERS), fc.oneof(fc.ipV4(), reserved), ({ spell }, ipv4) => {
			assert.equal(judgeAddress(spell(ipv4), []).public, judgeAddress(ipv4, []).public, spell(ipv4));
		}),
		{ numRuns: 3_000 },
	);
});

test("property: what is parsed as an address is what the system parses as one, except for zones", () => {
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

/**
 * Returns an address of the network with host bits from `random`. It is computed without the code under test.
 */
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
