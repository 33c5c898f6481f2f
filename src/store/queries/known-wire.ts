// The names that go on the wire, as this process knows them. They are open until a setting gives the brand or the first
// signing secret exists; from then on they never change, and no process signs or checks anything before it knows them.
//
//   open ──RINGBACK_BRAND──▶ known        open ──somebody chooses──▶ open, with another brand
//   open ──the first signing secret is made, in one transaction with the brand it is for──▶ known, once it is read

import { DEFAULT_BRAND } from "../../domain/network.ts";
import { type WireNames, wireNames } from "../../domain/signature.ts";
import type { Store } from "../store.ts";
import { findNetwork } from "./network.ts";

export interface KnownWire {
	/** Null while they are open, as far as this process knows: nothing may be signed or checked by them yet. */
	readonly names: WireNames | null;
	/** As they stand now. Whoever has seen a signing secret gets those that stay. */
	read(): Promise<WireNames>;
}

/** `given`: what RINGBACK_BRAND says. */
export function createKnownWire({ db }: Pick<Store, "db">, given: string | null): KnownWire {
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
