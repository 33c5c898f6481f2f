// The property: whatever address chance draws, however it is written or answered, saving and delivering let it
// pass exactly when it is public; and what is dialled is that address and nothing else.

import { isIP } from "node:net";
import fc from "fast-check";
import { savePostbackUrl } from "../../src/accounts/postback-url.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import { addressKey } from "../support/address-number.ts";
import { BrokenPromise, type Progress } from "../support/proof.ts";
import { startZoneServer } from "../support/zone-server.ts";
import { isPublic } from "./address-oracle.ts";
import { askAgain } from "./ask-again.ts";
import { answerWith } from "./corpus/entry.ts";
import { isUnresolved, LOOK_UP_TIMEOUT, prepareDelivery } from "./delivery-service.ts";
import { type DialGuard, guardDials, STOPPED } from "./dial-guard.ts";
import { type DrawnHost, drawnHost } from "./random-address.ts";

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
