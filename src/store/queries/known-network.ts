// The network as this process knows it: read once a second at most, so that every page and every mail may ask. A change
// made in this process counts at once; one made in another, after that second.

import { DEFAULT_BRAND } from "../../domain/network.ts";
import { type WireNames, wireNames } from "../../domain/signature.ts";
import { SECOND_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import type { Store } from "../store.ts";
import { findNetwork, type NetworkRow } from "./network.ts";

export interface NetworkFace {
	name: string | null;
	brand: string;
	/** Open: it can still be chosen. Given: RINGBACK_BRAND says so. Fixed: a programme has a key. */
	brandState: "open" | "given" | "fixed";
	/** Whether somebody has chosen it, or it could be chosen no more. */
	isBrandChosen: boolean;
	colour: string | null;
	supportAddress: string | null;
	senderName: string | null;
	senderAddress: string | null;
	logo: KnownLogo | null;
	mailTestedAtMs: number | null;
	/** Also when its last step is done: it has a name and a programme, and a test mail was accepted. */
	setUpEndedAtMs: number | null;
}

export interface KnownLogo {
	hash: string;
	width: number;
	height: number;
}

export interface KnownNetwork {
	/** The same object for as long as nothing has changed. */
	readonly face: NetworkFace;
	wire: KnownWire;
	/** At most a second old; where the database does not answer, the last that is known: a page about that needs a look, too. */
	read(): Promise<NetworkFace>;
	/** Whatever is known may be wrong: asked again at the next look. */
	forget(): void;
}

const FRESH_MS = SECOND_MS;

export function createKnownNetwork(
	{ store, clock }: { store: Pick<Store, "db">; clock: Pick<Clock, "nowMs"> },
	givenBrand: string | null,
): KnownNetwork {
	const wire = createKnownWire(store, givenBrand);
	let face = faceOf({}, givenBrand);
	let readAtMs = Number.NEGATIVE_INFINITY;
	let reading: Promise<NetworkFace> | null = null;
	/** Counts what may have changed: a look that began before is not kept. */
	let changes = 0;

	async function look(): Promise<NetworkFace> {
		readAtMs = clock.nowMs();
		const changesBefore = changes;
		try {
			const found = faceOf(await findNetwork(store.db), givenBrand);
			if (changes === changesBefore && JSON.stringify(found) !== JSON.stringify(face)) face = found;
		} catch {
			// Whoever needs the database for more than this says so.
		}
		return face;
	}

	return {
		get face() {
			return face;
		},
		wire,
		read() {
			const ageMs = clock.nowMs() - readAtMs;
			// Read in the future: the clock was set back, so it is not known how old this is.
			if (ageMs >= 0 && ageMs < FRESH_MS) return reading ?? Promise.resolve(face);
			const under = look().finally(() => {
				if (reading === under) reading = null;
			});
			reading = under;
			return under;
		},
		forget() {
			changes++;
			readAtMs = Number.NEGATIVE_INFINITY;
			reading = null;
		},
	};
}

/** Of what was read; nothing is chosen in what was not. */
function faceOf(row: Partial<NetworkRow>, givenBrand: string | null): NetworkFace {
	const brandState = givenBrand !== null ? "given" : (row.secret_id ?? null) === null ? "open" : "fixed";
	const isDone = (row.name ?? null) !== null && (row.programme_id ?? null) !== null;
	return {
		name: row.name ?? null,
		brand: givenBrand ?? row.brand ?? DEFAULT_BRAND,
		brandState,
		isBrandChosen: brandState !== "open" || (row.brand ?? null) !== null,
		colour: row.colour ?? null,
		supportAddress: row.support_address ?? null,
		senderName: row.sender_name ?? null,
		senderAddress: row.sender_address ?? null,
		logo: logoOf(row),
		mailTestedAtMs: row.mail_tested_at_ms ?? null,
		setUpEndedAtMs: row.set_up_ended_at_ms ?? (isDone ? (row.mail_tested_at_ms ?? null) : null),
	};
}

function logoOf({
	logo_hash: hash,
	logo_width: width,
	logo_height: height,
}: Partial<NetworkRow>): KnownLogo | null {
	return hash && width && height ? { hash, width, height } : null;
}

// The names that go on the wire, as this process knows them. They are open until a setting gives the brand or the first
// signing secret exists; from then on they never change, and no process signs or checks anything before it knows them.
//
//   open ──RINGBACK_BRAND──▶ known        open ──somebody chooses──▶ open, with another brand
//   open ──the first signing secret is made, in one transaction with the brand it is for──▶ known, once it is read

export interface KnownWire {
	/** Null while they are open, as far as this process knows: nothing may be signed or checked by them yet. */
	readonly names: WireNames | null;
	/** As they stand now. Whoever has seen a signing secret gets those that stay. */
	read(): Promise<WireNames>;
}

/** `given`: what RINGBACK_BRAND says. */
function createKnownWire({ db }: Pick<Store, "db">, given: string | null): KnownWire {
	let names = given === null ? null : wireNames(given);
	return {
		get names() {
			return names;
		},
		async read() {
			if (names !== null) return names;
			const { brand, secret_id } = await findNetwork(db);
			const read = wireNames(brand ?? DEFAULT_BRAND);
			if (secret_id !== null) names = read;
			return read;
		},
	};
}

/** Where a test, or a tool, has no network to ask. */
export function givenWire(brand: string): KnownWire {
	const names = wireNames(brand);
	return { names, read: async () => names };
}
