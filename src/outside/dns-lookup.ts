// Resolves host names by asking the name servers directly (c-ares). The system's getaddrinfo would block one
// of libuv's few threads for each name, so a few slow name servers would delay the lookups of all shops.

import { promises as dns } from "node:dns";
import { isIP } from "node:net";
import type { LookUp } from "#core/ports.ts";
import { readErrorCode } from "./error-code.ts";

export interface DnsLookUp {
	/**
	 * Returns the cached answer, or undefined. Without the cache, 20,000 deliveries a second would cause 20,000 queries.
	 */
	recall(host: string): LookUp | undefined;
	/** Asks the name servers. The promise never rejects. Concurrent calls for one name share a query. */
	ask(host: string): Promise<LookUp>;
	close(): void;
}

/**
 * Lifetime of a cached answer. It is short, regardless of the record's TTL, because every delivery must be
 * checked against the current addresses of the name.
 */
const REMEMBERED_MS = 1_000;
/**
 * Maximum number of cached answers, about 200 bytes each. The limit only protects memory, because answers
 * expire after a second.
 */
const MAX_REMEMBERED = 10_000;
/**
 * Maximum number of addresses of a name. A real name has a dozen at most. A shop must not be able to make us
 * check thousands of them.
 */
const MAX_ADDRESSES = 64;
/**
 * Timeout of a query. Its two tries take 1 s and 2 s and end before the attempt's deadline of 5 s, so that the shop's
 * owner sees ETIMEOUT as the reason. A query is repeated after an unreadable reply. The queries may then take 6 s in
 * all, and the deadline ends the attempt.
 */
const QUERY_TIMEOUT_MS = 1_000;
const QUERY_TRIES = 2;
/**
 * Time to wait for the answer of the second address family. Some name servers never answer AAAA queries. The
 * A records must be used while there is still time to deliver.
 */
const OTHER_FAMILY_WAIT_MS = 1_000;

/**
 * Addresses of localhost. By RFC 6761 section 6.3 such names are always loopback, and no name server is asked
 * for them.
 */
const LOCALHOST: LookUp = { ok: true, addresses: ["127.0.0.1", "::1"] };

/**
 * Error code of an unreadable reply. c-ares then closes its socket and fails all queries on it, so one shop's
 * broken name server would break the lookups of other shops. Each query that fails with this code is repeated
 * on a socket of its own.
 */
const BROKEN_MESSAGE = "EBADRESP";

export function createDnsLookUp(servers: readonly string[] | undefined): DnsLookUp {
	const resolver = createResolver(servers);
	const ownResolvers = new Set<dns.Resolver>();
	const remembered = new Map<string, { answer: LookUp; untilMs: number }>();
	const asked = new Map<string, Promise<LookUp>>();

	function recall(host: string): LookUp | undefined {
		const cached = remembered.get(host);
		if (cached !== undefined && performance.now() < cached.untilMs) return cached.answer;
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
		const separateResolver = createResolver(servers);
		ownResolvers.add(separateResolver);
		try {
			return await ask(separateResolver);
		} finally {
			ownResolvers.delete(separateResolver);
		}
	}

	function remember(host: string, answer: LookUp): void {
		// The entry is deleted first, so that the new one is inserted at the end. The map stays ordered by age,
		// and the oldest entry is evicted first.
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
			const cached = recall(host);
			if (cached !== undefined) return Promise.resolve(cached);
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

/** Answer for one address family, which has either addresses or an error code. */
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
	// IPv4 addresses come first, because some hosts have IPv6 addresses that do not work.
	const addresses = answers.flatMap((answer) => answer.addresses).toSorted((a, b) => isIP(a) - isIP(b));
	if (addresses.length > MAX_ADDRESSES) return { ok: false, code: "TOO_MANY_ADDRESSES" };
	if (addresses.length > 0) return { ok: true, addresses };
	// A failure code is preferred to one that only says that there is no record.
	const codes = answers.flatMap(({ code }) => code ?? []);
	const broken = codes.find((code) => code !== "ENODATA" && code !== "ENOTFOUND");
	return { ok: false, code: broken ?? (codes.includes("ENOTFOUND") ? "ENOTFOUND" : "ENODATA") };
}
