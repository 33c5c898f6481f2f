// Holds what saving answered, what a delivery stored and what was dialled against an entry of the corpus, and
// both verdicts against each other. Everything that is wrong, in words; nothing when all is right.

import { isIP } from "node:net";
import { addressKey } from "../support/address-number.ts";
import type { Entry, Expectation } from "./corpus/entry.ts";
import { type DeliveryResult, LOOK_UP_TIMEOUT } from "./delivery-service.ts";
import { type Dial, STOPPED } from "./dial-guard.ts";

export interface JudgedCase {
	entry: Entry;
	url: string;
	/** Why saving refused it, as its owner reads it; null when it was saved. */
	refusal: string | null;
	/** What the log says of that look-up: its error, or the addresses behind the name. */
	logged: LoggedRefusal;
	/** Whether the database had a URL after saving. */
	isStored: boolean;
}

export interface LoggedRefusal {
	dns?: string;
	addresses?: readonly string[];
}

/** Something wrong, in words, and whose it is; undefined for what belongs to no entry. */
export interface Finding {
	of: JudgedCase | undefined;
	what: string;
}

/** Below the ports that systems give out by themselves, so that no canary has one of them. */
export const FIRST_PORT = 2_000;
const HTTPS_PORT = 443;

/** A look-up timed out although the name server answers. Nothing passes by it, so it may be asked again. */
export function isMissed({ entry, logged }: JudgedCase, result: DeliveryResult | undefined): boolean {
	const { expect, later } = entry;
	// The attempt's own five seconds were over before the look-up gave up.
	if (result?.attempt?.result === "timeout") return true;
	if (
		[expect, later?.expect].some((one) => one?.verdict === "unresolvable" && one.code === LOOK_UP_TIMEOUT)
	) {
		return false;
	}
	const detail = result?.attempt?.detail ?? "";
	return logged.dns === LOOK_UP_TIMEOUT || detail.startsWith(LOOK_UP_TIMEOUT);
}

export function checkSave({ entry, url, refusal, isStored, logged }: JudgedCase): string[] {
	if (isStored !== (refusal === null)) return [`${name(entry, url)}: ${refusal}, yet stored: ${isStored}`];
	const { expect } = entry;
	if (expect.verdict === "unresolvable" && logged.dns !== expect.code) {
		return [`${name(entry, url)}: the log says ${logged.dns}, not ${expect.code}`];
	}
	// What its owner typed is repeated, also where a name has digits in it.
	const added = refusal?.replaceAll(URL.parse(url)?.hostname ?? "", "");
	const told = (logged.addresses ?? []).filter((address) => !isTyped(url) && added?.includes(address));
	if (told.length > 0) return [`${name(entry, url)}: saving told what the name stands for: ${told}`];
	const wanted = describeSave(expect, url);
	const isAsWanted = wanted === null ? refusal === null : wanted.every((words) => refusal?.includes(words));
	return isAsWanted
		? []
		: [`${name(entry, url)}: saving answered ${refusal ?? "saved"}, not ${wanted ?? "saved"}`];
}

/** Null: saved. */
function describeSave(expect: Expectation, url: string): readonly string[] | null {
	switch (expect.verdict) {
		case "passes":
			return null;
		case "forbidden":
			return [
				"postback_url_forbidden_address: ",
				isTyped(url) ? expect.because : "resolves to a private or internal address",
			];
		case "unresolvable":
			return ["postback_url_unresolvable: "];
		case "malformed":
			return [`${expect.fault}: `];
		default:
			return expect satisfies never;
	}
}

/** An address in whatever notation, which its owner may read again; what a name stands for is for the log. */
function isTyped(url: string): boolean {
	return isIP(URL.parse(url)?.hostname.replace(/^\[|\]$/g, "") ?? "") !== 0;
}

export function checkDelivery(
	{ entry, url }: JudgedCase,
	result: DeliveryResult | undefined,
	/** Why the host of this URL is forbidden, as the log says it; undefined when it says nothing. */
	reason: string | undefined,
): string[] {
	const expect = entry.later?.expect ?? entry.expect;
	const { delivery, attempt } = result ?? {};
	const found = [delivery?.state, delivery?.last_verdict, delivery?.attempts, attempt?.result];
	const { stored, detail } = describeDelivery(expect);
	const isAsWanted =
		stored.every((value, index) => value === (found[index] ?? null)) &&
		(detail === null ? attempt?.detail === null : attempt?.detail?.includes(detail) === true);
	const broken = isAsWanted
		? []
		: [`${name(entry, url)}: delivering stored ${found} (${attempt?.detail}), not ${stored} (${detail})`];
	if (expect.verdict === "forbidden" && reason?.includes(expect.because) !== true) {
		broken.push(`${name(entry, url)}: the log says ${reason}, not ${expect.because}`);
	}
	return broken;
}

interface StoredVerdict {
	/** State, verdict, attempts, and the attempt's result. */
	stored: readonly (string | number | null)[];
	/** What the attempt's detail must hold; null where it must say nothing, because pages show it. */
	detail: string | null;
}

function describeDelivery(expect: Expectation): StoredVerdict {
	switch (expect.verdict) {
		case "passes":
			return { stored: ["pending", "retry", 1, "network-error"], detail: `${STOPPED} (connect)` };
		case "forbidden":
			return { stored: ["failed", "forbidden address", 1, "forbidden-address"], detail: null };
		case "unresolvable":
			return { stored: ["pending", "retry", 1, "network-error"], detail: `${expect.code} (look-up)` };
		case "malformed":
			return { stored: ["pending", "retry", 1, "network-error"], detail: "INVALID_URL (look-up)" };
		default:
			return expect satisfies never;
	}
}

/** Exactly the addresses that passed were dialled, each once and in the order of the answer. */
export function checkDials(cases: readonly JudgedCase[], dials: readonly Dial[]): Finding[] {
	const left = Map.groupBy(dials, ({ port }) => port);
	const broken: Finding[] = [];
	for (const one of cases) {
		const { entry, url } = one;
		const expect = entry.later?.expect ?? entry.expect;
		if (expect.verdict !== "passes") continue;
		const port = Number(URL.parse(url)?.port) || HTTPS_PORT;
		const made = left.get(port) ?? [];
		for (const address of expect.dials) {
			const index = made.findIndex(
				({ host }) => isIP(host) !== 0 && addressKey(host) === addressKey(address),
			);
			// A port of its own has its dials in order; only the usual port is shared.
			if (index === -1 || (port >= FIRST_PORT && index !== 0)) {
				const hosts = made.map(({ host }) => host);
				broken.push({ of: one, what: `${name(entry, url)}: dialled ${hosts}, not ${expect.dials}` });
			}
			made.splice(index, index === -1 ? 0 : 1);
		}
	}
	for (const { host, port } of [...left.values()].flat()) {
		const of = cases.find(({ url }) => url.includes(`:${port}/`));
		const whose = of === undefined ? "nobody's" : name(of.entry, of.url);
		broken.push({ of, what: `${host} port ${port} was dialled: ${whose}` });
	}
	return broken;
}

function name({ what }: Entry, url: string): string {
	return `${url.slice(0, 100)} (${what})`;
}
