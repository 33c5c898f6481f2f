// IANA's IPv4 Special-Purpose Address Registry (RFC 6890 and its updates) and multicast space, written down
// from the registries and not from the product's table: first, last, the one before, the one after.

import { block, type ReservedBlock } from "./block.ts";

const PROTOCOL = "(192.0.0.0/24)";
const RELAY = "(192.88.99.0/24)";

export const IPV4_BLOCKS: readonly ReservedBlock[] = [
	block("0.0.0.0/8", "this network, RFC 791", {
		inside: ["0.0.0.0", "0.0.0.1", "0.255.255.255"],
		outside: ["1.0.0.0"],
	}),
	block("10.0.0.0/8", "private use, RFC 1918", {
		inside: ["10.0.0.0", "10.255.255.255"],
		outside: ["9.255.255.255", "11.0.0.0"],
	}),
	block("100.64.0.0/10", "shared address space, RFC 6598; cloud metadata at 100.100.100.200", {
		inside: ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
		outside: ["100.63.255.255", "100.128.0.0"],
	}),
	block("127.0.0.0/8", "loopback, RFC 1122", {
		inside: ["127.0.0.0", "127.0.0.1", "127.0.0.53", "127.127.127.127", "127.255.255.254", "127.255.255.255"],
		outside: ["126.255.255.255", "128.0.0.0"],
	}),
	block("169.254.0.0/16", "link local, RFC 3927; cloud metadata at 169.254.169.254", {
		inside: ["169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255"],
		outside: ["169.253.255.255", "169.255.0.0"],
	}),
	block("172.16.0.0/12", "private use, RFC 1918", {
		inside: ["172.16.0.0", "172.17.0.1", "172.31.255.255"],
		outside: ["172.15.255.255", "172.32.0.0"],
	}),
	block("192.0.0.0/24", "IETF protocol assignments, RFC 6890", {
		inside: ["192.0.0.0", "192.0.0.255"],
		outside: ["191.255.255.255", "192.0.1.0"],
	}),
	block("192.0.0.0/29", "IPv4 service continuity, RFC 7335", { [PROTOCOL]: ["192.0.0.7", "192.0.0.8"] }),
	block("192.0.0.9/32", "port control anycast, RFC 7723", { [PROTOCOL]: ["192.0.0.9"] }),
	block("192.0.0.10/32", "TURN anycast, RFC 8155", { [PROTOCOL]: ["192.0.0.10", "192.0.0.11"] }),
	block("192.0.0.170/31", "NAT64 discovery, RFC 8880", { [PROTOCOL]: ["192.0.0.170", "192.0.0.171"] }),
	block("192.0.2.0/24", "documentation (TEST-NET-1), RFC 5737", {
		inside: ["192.0.2.0", "192.0.2.255"],
		outside: ["192.0.1.255", "192.0.3.0"],
	}),
	block("192.31.196.0/24", "AS112, RFC 7535", {
		inside: ["192.31.196.0", "192.31.196.255"],
		outside: ["192.31.195.255", "192.31.197.0"],
	}),
	block("192.52.193.0/24", "automatic multicast tunnelling, RFC 7450", {
		inside: ["192.52.193.0", "192.52.193.255"],
		outside: ["192.52.192.255", "192.52.194.0"],
	}),
	block("192.88.99.0/24", "former 6to4 relay anycast, RFC 7526", {
		inside: ["192.88.99.0", "192.88.99.1", "192.88.99.255"],
		outside: ["192.88.98.255", "192.88.100.0"],
	}),
	block("192.88.99.2/32", "6a44 relay anycast, RFC 6751", { [RELAY]: ["192.88.99.2", "192.88.99.3"] }),
	block("192.168.0.0/16", "private use, RFC 1918", {
		inside: ["192.168.0.0", "192.168.255.255"],
		outside: ["192.167.255.255", "192.169.0.0"],
	}),
	block("192.175.48.0/24", "AS112 direct delegation, RFC 7534", {
		inside: ["192.175.48.0", "192.175.48.255"],
		outside: ["192.175.47.255", "192.175.49.0"],
	}),
	block("198.18.0.0/15", "benchmarking, RFC 2544", {
		inside: ["198.18.0.0", "198.19.255.255"],
		outside: ["198.17.255.255", "198.20.0.0"],
	}),
	block("198.51.100.0/24", "documentation (TEST-NET-2), RFC 5737", {
		inside: ["198.51.100.0", "198.51.100.255"],
		outside: ["198.51.99.255", "198.51.101.0"],
	}),
	block("203.0.113.0/24", "documentation (TEST-NET-3), RFC 5737", {
		inside: ["203.0.113.0", "203.0.113.255"],
		outside: ["203.0.112.255", "203.0.114.0"],
	}),
	block("224.0.0.0/4", "multicast, RFC 5771", {
		inside: ["224.0.0.0", "224.0.0.251", "232.0.0.0", "233.252.0.255", "239.0.0.0", "239.255.255.255"],
		outside: ["223.255.255.255"],
	}),
	block("240.0.0.0/4", "reserved, RFC 1112", { inside: ["240.0.0.0", "255.255.255.254"] }),
	block("255.255.255.255/32", "limited broadcast, RFC 919", { inside: ["255.255.255.255"] }),
];

/** Nothing special about them: they must pass. */
export const PUBLIC_IPV4 = [
	"1.1.1.1",
	"8.8.8.8",
	"9.9.9.9",
	"17.253.144.10",
	"93.184.215.14",
	"101.0.0.1",
	"151.101.1.69",
	"193.0.6.139",
	"199.9.14.201",
	"223.255.255.254",
] as const;
