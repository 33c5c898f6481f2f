// Addresses that chance draws, most of them in or beside a reserved block, each written in some way that a URL allows or
// answered by a name server: it must pass exactly when it is public.

import fc from "fast-check";
import { CARRIERS } from "../support/address-blocks.ts";
import {
	type AddressNumber,
	IPV4_BITS,
	IPV6_BITS,
	ipv6Groups,
	readAddress,
	spellIpv4,
} from "../support/address-number.ts";
import { answerWith, type Entry } from "./judge-entries.ts";
import { isPublic, RESERVED } from "./reckoning.ts";

/** So that the short run, too, would notice a generator that only draws one kind. */
const LEAST_SHARE = 0.05;

export function drawEntries(count: number, seed: number): Entry[] {
	const entries = fc
		.sample(drawnHost, { numRuns: count, seed })
		.map(({ literal, address, plain }, index) => ({
			what: plain,
			at: literal ?? `drawn-${index}.names.example`,
			...(literal === null ? { answers: answerWith(plain) } : {}),
			expect: isPublic(address) ? `dials ${plain}` : "forbids ",
		}));
	const kinds = [
		entries.filter(({ expect }) => expect.startsWith("dials")),
		entries.filter(({ expect }) => expect.startsWith("forbids")),
		entries.filter(({ answers }) => answers !== undefined),
	].map(({ length }) => length);
	if (Math.min(...kinds) < Math.floor(count * LEAST_SHARE)) {
		throw new Error(`chance drew too few of a kind: ${kinds}`);
	}
	return entries;
}

interface DrawnHost {
	/** As it stands in the URL; null where the name server is to say it. */
	literal: string | null;
	/** What it means. */
	address: AddressNumber;
	/** In plain spelling, for the name server and for messages. */
	plain: string;
}

const ANY_VALUE = fc.bigInt({ min: 0n, max: (1n << IPV6_BITS) - 1n });
/** How far beside a block's edge. */
const BESIDE = fc.bigInt({ min: -2n, max: 2n });

const inBlock = fc
	.tuple(fc.constantFrom(...RESERVED), ANY_VALUE)
	.map(([{ family, value, hostBits }, random]) => clip(family, value + (random & ((1n << hostBits) - 1n))));
const besideBlock = fc
	.tuple(fc.constantFrom(...RESERVED), BESIDE, fc.boolean())
	.map(([{ family, value, hostBits }, offset, isLast]) =>
		clip(family, value + (isLast ? (1n << hostBits) - 1n : 0n) + offset),
	);
const anyFour = ANY_VALUE.map((value) => clip(4, value));
const globalSix = ANY_VALUE.map((value) => clip(6, (value >> 3n) | (1n << 125n)));
const anySix = ANY_VALUE.map((value) => clip(6, value));

const drawnAddress = fc.oneof(inBlock, besideBlock, anyFour, globalSix, anySix);

const drawnHost: fc.Arbitrary<DrawnHost> = fc
	.tuple(drawnAddress, fc.option(fc.constantFrom(...CARRIERS)), fc.nat(), fc.boolean())
	.map(([drawn, carrier, choice, isNamed]) => {
		const plain =
			drawn.family === 4 && carrier !== null ? carrier.spell(spellIpv4(drawn.value)) : spell(drawn);
		const address = readAddress(plain);
		return { literal: isNamed ? null : writeLiteral(address, plain, choice), address, plain };
	});

function clip(family: 4 | 6, value: bigint): AddressNumber {
	const bits = family === 4 ? IPV4_BITS : IPV6_BITS;
	return { family, value: BigInt.asUintN(Number(bits), value) };
}

function spell({ family, value }: AddressNumber): string {
	return family === 4 ? spellIpv4(value) : ipv6Groups(value).join(":");
}

function writeLiteral({ family, value }: AddressNumber, plain: string, choice: number): string {
	const notations = family === 4 ? IPV4_NOTATIONS : IPV6_NOTATIONS;
	const write = notations[choice % notations.length];
	const text = write === undefined ? plain : write(value);
	return family === 4 ? text : `[${text}]`;
}

const bytesOf = (value: bigint): bigint[] => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn);
const octal = (value: bigint): string => `0${value.toString(8)}`;
const hex = (value: bigint): string => `0x${value.toString(16)}`;

const IPV4_NOTATIONS: readonly ((value: bigint) => string)[] = [
	spellIpv4,
	(value) => bytesOf(value).map(octal).join("."),
	(value) => bytesOf(value).map(hex).join("."),
	(value) => bytesOf(value).map(hex).join(".").toUpperCase(),
	(value) => String(value),
	hex,
	octal,
	(value) => `${value >> 24n}.${value & 0xffffffn}`,
	(value) => `${hex(value >> 24n)}.${octal((value >> 16n) & 0xffn)}.${value & 0xffffn}`,
	(value) => spellIpv4(value).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
	(value) => spellIpv4(value).replaceAll(".", "\u3002"),
	(value) => spellIpv4(value).replace(/\d/g, (digit) => `%3${digit}`),
];

const IPV6_NOTATIONS: readonly ((value: bigint) => string)[] = [
	(value) => ipv6Groups(value).join(":"),
	(value) => ipv6Groups(value).join(":").toUpperCase(),
	(value) =>
		ipv6Groups(value)
			.map((group) => group.padStart(4, "0"))
			.join(":"),
	(value) => compress(ipv6Groups(value)),
	(value) => `${ipv6Groups(value).slice(0, 6).join(":")}:${spellIpv4(value & 0xffff_ffffn)}`,
	(value) => compress(ipv6Groups(value)).toUpperCase(),
];

/** The first run of zeros, one group long or more. */
function compress(groups: readonly string[]): string {
	const start = groups.indexOf("0");
	if (start === -1) return groups.join(":");
	const rest = groups.slice(start);
	const length = rest.findIndex((group) => group !== "0");
	const end = length === -1 ? groups.length : start + length;
	return `${groups.slice(0, start).join(":")}::${groups.slice(end).join(":")}`;
}
