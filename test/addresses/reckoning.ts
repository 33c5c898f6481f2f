// The expected verdict on any address at all, reckoned from the tests' own list of blocks: an address passes when no
// block holds it, and one that carries an IPv4 address when that one passes too.

import { IPV4_BLOCKS, IPV6_BLOCKS } from "../support/address-blocks.ts";
import { type AddressNumber, readBlock } from "../support/address-number.ts";

export const RESERVED = [...IPV4_BLOCKS, ...IPV6_BLOCKS].map(({ cidr }) => readBlock(cidr));

const GLOBAL_UNICAST = readBlock("2000::/3");
/** The forms that carry an IPv4 address, and where in the 128 bits it stands. */
const LAST_BITS = [readBlock("::ffff:0:0/96"), readBlock("64:ff9b::/96")];
const TEREDO = readBlock("2001::/32");
const SIX_TO_FOUR = readBlock("2002::/16");
const IPV4_MASK = 0xffff_ffffn;
/** RFC 5214: behind any prefix, with two bits of the first byte free. */
const ISATAP_MARK = 0x0000_5efen;
const ISATAP_MASK = 0xfcff_ffffn;

export function isPublic(address: AddressNumber): boolean {
	if (address.family === 4) return !isReserved(address);
	if (LAST_BITS.some((block) => holds(block, address))) return carriesPublic(address.value);
	if (holds(TEREDO, address)) {
		return carriesPublic(address.value >> 64n) && carriesPublic(address.value ^ IPV4_MASK);
	}
	if (isReserved(address) || !holds(GLOBAL_UNICAST, address)) return false;
	if (holds(SIX_TO_FOUR, address) && !carriesPublic(address.value >> 80n)) return false;
	const isIsatap = ((address.value >> 32n) & ISATAP_MASK) === ISATAP_MARK;
	return !isIsatap || carriesPublic(address.value);
}

function carriesPublic(bits: bigint): boolean {
	return !isReserved({ family: 4, value: bits & IPV4_MASK });
}

function isReserved(address: AddressNumber): boolean {
	return RESERVED.some((block) => holds(block, address));
}

function holds(block: ReturnType<typeof readBlock>, { family, value }: AddressNumber): boolean {
	return block.family === family && block.value >> block.hostBits === value >> block.hostBits;
}
