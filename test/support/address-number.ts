// Converts addresses to numbers without the code under test, so that proofs of the address policy can compare
// addresses independently.

export interface AddressNumber {
	family: 4 | 6;
	value: bigint;
}

const IPV4_BITS = 32n;
const IPV6_BITS = 128n;
const GROUPS = 8;

/** Parses dotted IPv4, or IPv6 in any form without a zone. Throws if the text is not an address. */
export function readAddress(text: string): AddressNumber {
	return text.includes(":") ? { family: 6, value: readIpv6(text) } : { family: 4, value: readIpv4(text) };
}

/** Returns a key of an address. Two texts have equal keys exactly if they are the same address. */
export function addressKey(text: string): string {
	const { family, value } = readAddress(text);
	return `IPv${family} ${value.toString(16)}`;
}

export function readBlock(cidr: string): AddressNumber & { hostBits: bigint } {
	const [network = "", prefix = ""] = cidr.split("/");
	const address = readAddress(network);
	return { ...address, hostBits: (address.family === 4 ? IPV4_BITS : IPV6_BITS) - BigInt(prefix) };
}

export function spellIpv4(value: bigint): string {
	return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

/** Returns all eight groups, without compression. */
export function ipv6Groups(value: bigint): string[] {
	return Array.from({ length: GROUPS }, (_, index) => {
		const group = (value >> BigInt((GROUPS - 1 - index) * 16)) & 0xffffn;
		return group.toString(16);
	});
}

function readIpv4(text: string): bigint {
	const bytes = text.split(".");
	if (bytes.length !== 4 || !bytes.every((byte) => /^\d{1,3}$/.test(byte) && Number(byte) < 256)) {
		throw new RangeError(`${text} is no IPv4 address`);
	}
	return bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function readIpv6(text: string): bigint {
	const plain = text.replace(/\d+\.\d+\.\d+\.\d+$/, (quad) => {
		const value = readIpv4(quad);
		return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
	});
	const [head = [], tail] = plain.split("::").map((side) => side.split(":").filter((group) => group !== ""));
	const zeros = tail === undefined ? 0 : GROUPS - head.length - tail.length;
	const groups = [...head, ...Array<string>(zeros).fill("0"), ...(tail ?? [])];
	if (groups.length !== GROUPS || !groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) {
		throw new RangeError(`${text} is no IPv6 address`);
	}
	return groups.reduce((sum, group) => sum * 0x10000n + BigInt(`0x${group}`), 0n);
}
