// Caches the network's settings for a second, because every page and every mail uses them. A change made in this
// process takes effect at once. A change made in another process takes effect within a second.

import { createCachedValue } from "../../concurrency/cached-value.ts";
import { DEFAULT_BRAND } from "../domain/network.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { type WireNames, wireNames } from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import { DEFAULT_ZONE } from "../domain/zone-day.ts";
import type { Clock } from "../ports.ts";
import { findNetwork, type NetworkRow } from "./queries/network.ts";
import type { Store } from "./store.ts";

export interface NetworkFace {
	name: string | null;
	brand: string;
	/**
	 * "open" while the brand can still be chosen, "given" if RINGBACK_BRAND sets it, and "fixed" once a shop has a signing
	 * secret.
	 */
	brandState: "open" | "given" | "fixed";
	/** True if somebody has chosen the brand, or if it can no longer be chosen. */
	isBrandChosen: boolean;
	colour: string | null;
	supportAddress: string | null;
	/** Time zone in which days and months are counted in filters, sums and files. */
	timeZone: string;
	senderName: string | null;
	senderAddress: string | null;
	logo: NetworkLogo | null;
	mailTestedAtMs: number | null;
	/** Time at which somebody ended the set-up or its last step was done, or null if the set-up has not ended. */
	setUpEndedAtMs: number | null;
	/** True if a sample programme exists. Its header names change with the brand. */
	hasSample: boolean;
}

export interface NetworkLogo {
	hash: string;
	width: number;
	height: number;
}

export interface NetworkCache {
	/** Settings that were read last. The object stays the same until a setting changes. */
	readonly face: NetworkFace;
	wire: KnownWire;
	/**
	 * Returns settings that are at most a second old. If the database does not answer, it returns the settings that
	 * were read last, because the page that reports this failure needs settings, too.
	 */
	read(): Promise<NetworkFace>;
	/** Makes the next call of `read` ask the database again. */
	forget(): void;
}

const FRESH_MS = SECOND_MS;

export function createNetworkCache(
	{ store, clock }: { store: Pick<Store, "db">; clock: Pick<Clock, "monotonicMs"> },
	givenBrand: string | null,
): NetworkCache {
	const initialFace = faceOf({}, givenBrand);
	const cached = createCachedValue({ clock, freshForMs: FRESH_MS, load });
	const latestFace = (): NetworkFace => cached.latest ?? initialFace;

	async function load(): Promise<NetworkFace> {
		try {
			const loaded = faceOf(await findNetwork(store.db), givenBrand);
			const latest = latestFace();
			return JSON.stringify(loaded) === JSON.stringify(latest) ? latest : loaded;
		} catch {
			// The error is not reported here. A caller that needs the database for anything else gets the same error and
			// reports it.
			return latestFace();
		}
	}

	return {
		get face() {
			return latestFace();
		},
		wire: createKnownWire({ store, clock }, givenBrand),
		read: cached.get,
		forget: cached.invalidate,
	};
}

/** Converts the network's row to its settings. Fields that are missing from `row` count as not chosen. */
function faceOf(row: Partial<NetworkRow>, givenBrand: string | null): NetworkFace {
	const brandState = givenBrand !== null ? "given" : row.brand_is_fixed === 1 ? "fixed" : "open";
	const isDone = (row.name ?? null) !== null && (row.programme_id ?? null) !== null;
	return {
		name: row.name ?? null,
		brand: givenBrand ?? row.brand ?? DEFAULT_BRAND,
		brandState,
		isBrandChosen: brandState !== "open" || (row.brand ?? null) !== null,
		colour: row.colour ?? null,
		supportAddress: row.support_address ?? null,
		timeZone: row.time_zone ?? DEFAULT_ZONE,
		senderName: row.sender_name ?? null,
		senderAddress: row.sender_address ?? null,
		logo: logoOf(row),
		mailTestedAtMs: row.mail_tested_at_ms ?? null,
		setUpEndedAtMs: row.set_up_ended_at_ms ?? (isDone ? (row.mail_tested_at_ms ?? null) : null),
		hasSample: (row.sample_receiver_id ?? null) !== null,
	};
}

function logoOf({
	logo_hash: hash,
	logo_width: width,
	logo_height: height,
}: Partial<NetworkRow>): NetworkLogo | null {
	return hash && width && height ? { hash, width, height } : null;
}

// Names that contain the brand in requests (header names and the like). They are open until a setting gives the brand
// or a shop gets its first signing secret. From then on they never change. No process signs or verifies anything for
// a shop before it has read the fixed names. The sample programme may be used while the names are open, so its header
// names may change.
//
//   open ──RINGBACK_BRAND──▶ fixed
//   open ──somebody chooses a brand──▶ open, with another brand
//   open ──a shop's first signing secret is created, in the transaction that stores its brand──▶ fixed

export interface KnownWire {
	/** Fixed names, or null as long as this process does not know that they are fixed. */
	readonly names: WireNames | null;
	/**
	 * Returns the names for callbacks to this receiver, or null if the caller must first read them. Names that are not
	 * fixed are returned only for the sample programme, and only for a second.
	 */
	namesFor(receiverId: ReceiverId): WireNames | null;
	/** Reads the names from the database. They are fixed if a shop had a signing secret before the call. */
	read(): Promise<WireNames>;
}

/** Creates a reader of the wire names. `givenBrand` is the value of RINGBACK_BRAND. */
function createKnownWire(
	{ store, clock }: { store: Pick<Store, "db">; clock: Pick<Clock, "monotonicMs"> },
	givenBrand: string | null,
): KnownWire {
	let fixed = givenBrand === null ? null : wireNames(givenBrand);
	let ofSample: { receiverId: ReceiverId; names: WireNames; readAtMs: number } | null = null;
	return {
		get names() {
			return fixed;
		},
		namesFor(receiverId) {
			if (fixed !== null || ofSample?.receiverId !== receiverId) return fixed;
			return clock.monotonicMs() - ofSample.readAtMs < FRESH_MS ? ofSample.names : null;
		},
		async read() {
			if (fixed !== null) return fixed;
			const readAtMs = clock.monotonicMs();
			const { brand, brand_is_fixed, sample_receiver_id: receiverId } = await findNetwork(store.db);
			const names = wireNames(brand ?? DEFAULT_BRAND);
			if (brand_is_fixed === 1) fixed = names;
			else if (receiverId !== null) ofSample = { receiverId, names, readAtMs };
			return names;
		},
	};
}

/** Returns fixed wire names, such as header names, for tests and tools that have no database to ask. */
export function givenWire(brand: string): KnownWire {
	const names = wireNames(brand);
	return { names, namesFor: () => names, read: async () => names };
}
