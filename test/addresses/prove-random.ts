// The property: whatever address chance draws, however it is written or answered, saving and delivering let it
// pass exactly when it is public; and what is dialled is that address and nothing else. Most addresses are drawn in or
// beside a reserved block, and each is written in some way that a URL allows.

import { isIP } from "node:net";
import fc from "fast-check";
import { savePostbackUrl } from "../../src/programmes/postback-url.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import { CARRIERS, IPV4_BLOCKS, IPV6_BLOCKS } from "../support/address-blocks.ts";
import {
	type AddressNumber,
	addressKey,
	IPV4_BITS,
	IPV6_BITS,
	ipv6Groups,
	readAddress,
	readBlock,
	spellIpv4,
} from "../support/address-number.ts";
import { BrokenPromise, type Progress } from "../support/proof.ts";
import { startZoneServer } from "../support/zone-server.ts";
import { answerWith } from "./corpus/entry.ts";
import { askAgain, isUnresolved, LOOK_UP_TIMEOUT, prepareDelivery } from "./delivery-service.ts";
import { type DialGuard, guardDials, STOPPED } from "./dial-guard.ts";

export interface RandomCounts {
	addresses: number;
	passed: number;
	refused: number;
	named: number;
}

/** So that the short run, too, would notice a generator that only draws one kind. */
const LEAST_SHARE = 0.05;

export async function proveRandom(
	runs: number,
	seed: number,
	progress: Progress,
	replay: string,
): Promise<RandomCounts> {
	const counts: RandomCounts = { addresses: 0, passed: 0, refused: 0, named: 0 };
	const zone = new Map<string, string>();
	await using cleaning = new AsyncDisposableStack();
	const names = await startZoneServer(({ name, type }) => {
		const address = zone.get(name);
		if (address === undefined || type === null) return { failure: "NXDOMAIN" };
		return answerWith(address)[type];
	});
	cleaning.defer(() => names.close());
	const opened = await prepareDelivery({ dnsServer: names.address, allowedRanges: "" });
	cleaning.defer(opened.close);
	const guard = guardDials(() => false);
	cleaning.defer(() => guard.remove());
	const workplace = await opened.openWorkplace();
	cleaning.defer(() => workplace.close());
	const property = fc.asyncProperty(drawnHost, async (drawn) => {
		counts.addresses += 1;
		progress(`${counts.addresses} of ${runs} addresses`);
		const host = drawn.literal ?? `address-${counts.addresses}.names.example`;
		zone.clear();
		if (drawn.literal === null) {
			counts.named += 1;
			zone.set(host, drawn.plain);
		}
		const isGood = isPublic(drawn.address);
		counts[isGood ? "passed" : "refused"] += 1;
		await checkSaving(workplace, host, drawn, isGood);
		await checkSending(workplace, guard, host, drawn, isGood);
	});
	await fc.assert(property, { numRuns: runs, seed }).catch((error: unknown) => {
		throw new BrokenPromise("an address got the wrong verdict", replay, error);
	});
	if (guard.systemConnects > 0) throw new BrokenPromise("a connection went past the guard", replay);
	const least = Math.floor(runs * LEAST_SHARE);
	if (Math.min(counts.passed, counts.refused, counts.named) < least) {
		throw new BrokenPromise(`chance drew too few of a kind: ${JSON.stringify(counts)}`, replay);
	}
	return counts;
}

/** For a programme that is not there: what the address policy lets pass gets as far as that, and writes nothing. */
async function checkSaving(
	workplace: Workplace,
	host: string,
	drawn: DrawnHost,
	isGood: boolean,
): Promise<void> {
	const saved = await askAgain(
		() => savePostbackUrl(workplace, "prg_none", `https://${host}/`),
		isUnresolved,
	);
	const code = saved.ok ? "saved" : saved.fault.code;
	const wanted = isGood ? "unknown_programme" : "postback_url_forbidden_address";
	if (code !== wanted) throw new Error(`${host} (${drawn.plain}): saving answered ${code}, not ${wanted}`);
}

async function checkSending(
	workplace: Workplace,
	guard: DialGuard,
	host: string,
	drawn: DrawnHost,
	isGood: boolean,
): Promise<void> {
	const before = guard.dials.length;
	const { outcome } = await askAgain(
		() => workplace.transport.post({ url: `https://${host}/`, headers: [], body: "{}" }),
		({ outcome }) =>
			outcome.kind === "network-error" && outcome.stage === "look-up" && outcome.code === LOOK_UP_TIMEOUT,
	);
	const found = outcome.kind === "network-error" ? outcome.code : outcome.kind;
	const wanted = isGood ? STOPPED : "forbidden-address";
	const dialled = guard.dials
		.slice(before)
		.map((dial) => (isIP(dial.host) === 0 ? dial.host : addressKey(dial.host)));
	const wantedDials = isGood ? [addressKey(drawn.plain)] : [];
	if (found !== wanted || dialled.join() !== wantedDials.join()) {
		throw new Error(
			`${host} (${drawn.plain}): sending ended in ${found} and dialled "${dialled}", not ${wanted}`,
		);
	}
}

const RESERVED = [...IPV4_BLOCKS, ...IPV6_BLOCKS].map(({ cidr }) => readBlock(cidr));

const GLOBAL_UNICAST = readBlock("2000::/3");
/** The forms that carry an IPv4 address, and where in the 128 bits it stands. */
const LAST_BITS = [readBlock("::ffff:0:0/96"), readBlock("64:ff9b::/96")];
const TEREDO = readBlock("2001::/32");
const SIX_TO_FOUR = readBlock("2002::/16");
const IPV4_MASK = 0xffff_ffffn;
/** RFC 5214: behind any prefix, with two bits of the first byte free. */
const ISATAP_MARK = 0x0000_5efen;
const ISATAP_MASK = 0xfcff_ffffn;

/**
 * The expected verdict on any address at all, reckoned from the corpus's own list of blocks: an address passes when no
 * block holds it, and one that carries an IPv4 address when that one passes too.
 */
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
