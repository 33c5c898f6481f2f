// Names to addresses by asking the name servers directly (c-ares). The system's getaddrinfo would hold one of
// libuv's few threads per name, so that some slow name servers would keep every other shop waiting.

import { promises as dns } from "node:dns";
import { isIP } from "node:net";
import type { LookUp } from "../ports.ts";
import { readErrorCode } from "./error-code.ts";

export interface DnsLookUp {
	/** What is known without asking, at once: 20,000 deliveries a second must not be as many queries. */
	recall(host: string): LookUp | undefined;
	/** Never rejects. Those who ask for one name at the same time share one query. */
	ask(host: string): Promise<LookUp>;
	/** Ends the queries that are still out. */
	close(): void;
}

/** Short enough that every delivery is judged on what the name stands for now, whatever its TTL says. */
const REMEMBERED_MS = 1_000;
/** Only bounds memory (about 200 bytes each): entries older than a second are of no use anyway. */
const MAX_REMEMBERED = 10_000;
/** A real name has a dozen at most, and judging each costs: a shop must not buy our time with thousands. */
const MAX_ADDRESSES = 64;
/**
 * Two tries, 1 s and then 2 s, end before the attempt's 5 s do: the owner reads ETIMEOUT, not "timeout". Where a
 * broken message has it asked twice it can be 3 s and 3 s; then the attempt's own deadline ends it.
 */
const QUERY_TIMEOUT_MS = 1_000;
const QUERY_TRIES = 2;
/** Some name servers never answer AAAA. What they said for A is used while there is still time to deliver. */
const OTHER_FAMILY_WAIT_MS = 1_000;

/** RFC 6761 section 6.3: these are loopback everywhere, and no name server is asked for them. */
const LOCALHOST: LookUp = { ok: true, addresses: ["127.0.0.1", "::1"] };

/**
 * A message that cannot be read. c-ares then gives up its socket with all that is out on it, so that one shop's
 * broken name server would fail the look-ups of every other shop. Whoever is hit asks again on a socket of
 * its own.
 */
const BROKEN_MESSAGE = "EBADRESP";

export function createDnsLookUp(servers: readonly string[] | undefined): DnsLookUp {
	const resolver = createResolver(servers);
	const ownResolvers = new Set<dns.Resolver>();
	const remembered = new Map<string, { answer: LookUp; untilMs: number }>();
	const asked = new Map<string, Promise<LookUp>>();

	function recall(host: string): LookUp | undefined {
		const known = remembered.get(host);
		if (known !== undefined && performance.now() < known.untilMs) return known.answer;
		if (host === "localhost" || host.endsWith(".localhost")) return LOCALHOST;
		return isIP(host) === 0 ? undefined : { ok: true, addresses: [host] };
	}

	async function query(host: string): Promise<LookUp> {
		const answer = await askBothFamilies(
			askFamily((open) => open.resolve4(host)),
			askFamily((open) => open.resolve6(host)),
		);
		asked.delete(host);
		if (answer.ok) remember(host, answer);
		return answer;
	}

	async function askFamily(ask: (open: dns.Resolver) => Promise<string[]>): Promise<string[]> {
		try {
			return await ask(resolver);
		} catch (error) {
			if (readErrorCode(error) !== BROKEN_MESSAGE) throw error;
		}
		const own = createResolver(servers);
		ownResolvers.add(own);
		try {
			return await ask(own);
		} finally {
			ownResolvers.delete(own);
		}
	}

	function remember(host: string, answer: LookUp): void {
		// Taken out first, so that the map's order is the age of its answers and the oldest goes.
		remembered.delete(host);
		if (remembered.size >= MAX_REMEMBERED) {
			const oldest = remembered.keys().next();
			if (!oldest.done) remembered.delete(oldest.value);
		}
		remembered.set(host, { answer, untilMs: performance.now() + REMEMBERED_MS });
	}

	return {
		recall,
		ask(host) {
			const known = recall(host);
			if (known !== undefined) return Promise.resolve(known);
			let answer = asked.get(host);
			if (answer === undefined) {
				answer = query(host);
				asked.set(host, answer);
			}
			return answer;
		},
		close() {
			for (const open of [resolver, ...ownResolvers]) open.cancel();
		},
	};
}

function createResolver(servers: readonly string[] | undefined): dns.Resolver {
	const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
	if (servers !== undefined) resolver.setServers(servers);
	return resolver;
}

/** What one family said: some addresses, or a code. */
interface Answer {
	addresses: readonly string[];
	code: string | null;
}

async function askBothFamilies(...asking: readonly Promise<readonly string[]>[]): Promise<LookUp> {
	const answers: Answer[] = [];
	const families = asking.map(async (family) => {
		answers.push(
			await family.then(
				(addresses) => ({ addresses, code: null }),
				(error: unknown) => ({ addresses: [], code: readErrorCode(error) }),
			),
		);
	});
	await Promise.race(families);
	const both = Promise.all(families);
	if (answers.some(({ addresses }) => addresses.length > 0)) {
		const waited = Promise.withResolvers<void>();
		const wait = setTimeout(waited.resolve, OTHER_FAMILY_WAIT_MS);
		await Promise.race([both, waited.promise]);
		clearTimeout(wait);
	} else await both;
	return merge(answers);
}

function merge(answers: readonly Answer[]): LookUp {
	// IPv4 first: some hosts have an IPv6 address that leads nowhere.
	const addresses = answers.flatMap((answer) => answer.addresses).toSorted((a, b) => isIP(a) - isIP(b));
	if (addresses.length > MAX_ADDRESSES) return { ok: false, code: "TOO_MANY_ADDRESSES" };
	if (addresses.length > 0) return { ok: true, addresses };
	// The family that broke says more than the one that has no record.
	const codes = answers.flatMap(({ code }) => code ?? []);
	const broken = codes.find((code) => code !== "ENODATA" && code !== "ENOTFOUND");
	return { ok: false, code: broken ?? (codes.includes("ENOTFOUND") ? "ENOTFOUND" : "ENODATA") };
}
