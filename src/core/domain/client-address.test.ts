import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRange } from "./address.ts";
import { addressBlockOf, blockOf, findClientAddress, siteOf } from "./client-address.ts";

const TRUSTED = ["127.0.0.0/8", "10.0.0.0/8", "2001:db8::/32"].flatMap((text) => parseRange(text) ?? []);

const CASES: readonly [
	title: string,
	socket: string | undefined,
	forwarded: string | undefined,
	client: string,
][] = [
	["without a proxy it is the socket's", "198.51.100.7", undefined, "198.51.100.7"],
	["a caller who is no proxy cannot name another address", "198.51.100.7", "203.0.113.9", "198.51.100.7"],
	["a trusted proxy names the client", "127.0.0.1", "203.0.113.9", "203.0.113.9"],
	[
		"what the client put before its own address does not count",
		"127.0.0.1",
		"1.1.1.1, 203.0.113.9",
		"203.0.113.9",
	],
	[
		"a chain of trusted proxies is walked to its end",
		"10.0.0.1",
		"203.0.113.9, 10.0.0.2 ,10.0.0.3",
		"203.0.113.9",
	],
	["a chain of nobody but proxies ends at the first", "10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"],
	["a trusted proxy that says nothing is itself the client", "127.0.0.1", undefined, "127.0.0.1"],
	["nonsense ends the chain", "127.0.0.1", "203.0.113.9, <script>", "127.0.0.1"],
	["an empty hop ends the chain", "127.0.0.1", "203.0.113.9, ", "127.0.0.1"],
	["an IPv4 caller on an IPv6 socket is the same caller", "::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"],
	["IPv6 proxies are trusted too", "2001:db8::1", "2a00::5", "2a00::5"],
	["without a socket nobody is trusted", undefined, "203.0.113.9", "0.0.0.0"],
];

for (const [title, socket, forwarded, client] of CASES) {
	test(title, () => assert.equal(findClientAddress(socket, forwarded, TRUSTED), client));
}

test("without trusted proxies the header is never believed", () => {
	assert.equal(findClientAddress("127.0.0.1", "203.0.113.9", []), "127.0.0.1");
});

test("the host of an IPv4 address is the address, and of an IPv6 address its first 64 bits", () => {
	assert.equal(addressBlockOf("198.51.100.7"), "198.51.100.7");
	assert.equal(addressBlockOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
	assert.equal(addressBlockOf("2001:0db8:0001:0002::ffff"), addressBlockOf("2001:db8:1:2::1"));
	assert.notEqual(addressBlockOf("2001:db8:1:3::1"), addressBlockOf("2001:db8:1:2::1"));
	assert.equal(addressBlockOf(""), "");
});

const BLOCKS: readonly [address: string, block: string | null][] = [
	["5.6.7.8", "5.6.7"],
	["5.6.7.255", "5.6.7"],
	["5.6.70.8", "5.6.70"],
	["2a00:1:2:3::4", "2a00:1:2"],
	["2a00:1:2:ffff:1:2:3:4", "2a00:1:2"],
	["2A00:0001:0002::", "2a00:1:2"],
	["2a00:1:3::4", "2a00:1:3"],
	["203.0.113.9", "203.0.113"],
	["2001:db8::9", "2001:db8:0"],
	["127.0.0.1", null],
	["100.64.0.1", null],
	["10.1.2.3", null],
	["172.16.0.9", null],
	["192.168.1.1", null],
	["::1", null],
	["fd00::1", null],
	["fe80::1", null],
	["0.0.0.0", null],
	["", null],
	["not an address", null],
];

for (const [address, block] of BLOCKS) {
	test(`the block of ${address === "" ? "nothing" : address} is ${block ?? "none"}`, () => {
		assert.equal(blockOf(address), block);
	});
}

test("an IPv6 address belongs to a site of 65,536 networks, and an IPv4 address to none", () => {
	assert.equal(siteOf("2001:db8:1:2::1"), "2001:db8:1");
	assert.equal(siteOf("2001:db8:1:ffff::9"), siteOf("2001:db8:1::"));
	assert.notEqual(siteOf("2001:db8:2::1"), siteOf("2001:db8:1::1"));
	assert.equal(siteOf("198.51.100.7"), null);
});
