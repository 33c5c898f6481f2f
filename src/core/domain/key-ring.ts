// The sealing keys that a process knows. One of them seals. While the sealing key is being replaced, values sealed by the
// former one are opened too, so that no process ever meets a value that it cannot read. docs/decisions/sealing-key.md
// describes the replacement.
//
// Other keys are derived from the sealing key, one for each use: click IDs, cookies and cursors. What was made with them
// is outside the database and cannot be sealed again. So the keys that the former sealing key gave for some uses are kept,
// sealed by the present one.

import { hkdfSync } from "node:crypto";

const DERIVED_BYTES = 32;
const ID_BYTES = 8;
/**
 * Maximum number of derived keys in memory. Click IDs have one for each day, and the longest click window has fewer
 * days than this.
 */
const MAX_DERIVED = 1_000;

/** Derived keys of former sealing keys, by use. */
export type KeptKeys = ReadonlyMap<string, readonly Uint8Array[]>;

/** The part of the database's state on which the use of the keys depends. */
export interface KeyUse {
	/** Id of the key that seals. Null in a database in which nothing was sealed yet. */
	presentId: string | null;
	/** Id of the key that sealed before, or null. Nothing is derived from it any more. */
	formerId: string | null;
	kept: KeptKeys;
}

export interface KeyRing {
	/** Keys that open stored values. The key that seals comes first. */
	readonly keys: readonly Uint8Array[];
	/** Ids of these keys, in the same order. */
	readonly ids: readonly string[];
	/** Number that changes whenever derived keys may have changed. */
	readonly version: number;
	/** The state that `follow` adopted last. */
	readonly use: KeyUse;
	find(id: string): Uint8Array | undefined;
	/**
	 * Returns the keys for a use. The first one makes something new. All of them are tried on something that was made
	 * before.
	 */
	derive(use: string): readonly [Uint8Array, ...Uint8Array[]];
	/** Adopts the state of the database. */
	follow(use: KeyUse): void;
	/** Reads the keys again from where this process got them. Keys in use stay known. */
	reload(): void;
}

/**
 * Creates a key ring. `keys` must not be empty, and its first key seals until `follow` names another one. `read` returns
 * the keys as they are now, for a process whose keys are in files.
 */
export function createKeyRing(
	keys: readonly Uint8Array[],
	read: () => readonly Uint8Array[] = () => keys,
): KeyRing {
	let known = identify(keys);
	let use: KeyUse = { presentId: null, formerId: null, kept: new Map() };
	let sorted = sort();
	let sortedKeys = sorted.map(([, key]) => key);
	let version = 0;
	const derived = new Map<string, readonly [Uint8Array, ...Uint8Array[]]>();

	function sort(): readonly (readonly [id: string, key: Uint8Array])[] {
		const all = [...known];
		return [...all.filter(([id]) => id === use.presentId), ...all.filter(([id]) => id !== use.presentId)];
	}

	function change(): void {
		sorted = sort();
		sortedKeys = sorted.map(([, key]) => key);
		derived.clear();
		version++;
	}

	function deriveAll(name: string): readonly [Uint8Array, ...Uint8Array[]] {
		const present = sorted.filter(([id]) => id !== use.formerId).map(([, key]) => deriveKey(key, name));
		const [first, ...others] = [...present, ...(use.kept.get(name) ?? [])];
		if (first === undefined) throw new Error("the key ring has no key");
		return [first, ...others];
	}

	return {
		get keys() {
			return sortedKeys;
		},
		get ids() {
			return sorted.map(([id]) => id);
		},
		get version() {
			return version;
		},
		get use() {
			return use;
		},
		find: (id) => known.get(id),
		derive(name) {
			const cached = derived.get(name);
			if (cached !== undefined) return cached;
			const fresh = deriveAll(name);
			const [oldest] = derived.keys();
			if (derived.size >= MAX_DERIVED && oldest !== undefined) derived.delete(oldest);
			derived.set(name, fresh);
			return fresh;
		},
		follow(next) {
			use = next;
			change();
		},
		reload() {
			// A key that left its file may still be needed for a row that was read a moment ago.
			const inUse = [use.presentId, use.formerId].flatMap((id) => known.get(id ?? "") ?? []);
			known = identify([...read(), ...inUse]);
			change();
		},
	};
}

function identify(keys: readonly Uint8Array[]): Map<string, Uint8Array> {
	return new Map(keys.map((key) => [keyIdOf(key), key]));
}

/** Returns the id of a sealing key: 16 hex digits, which reveal nothing about the key. */
export function keyIdOf(key: Uint8Array): string {
	return Buffer.from(deriveKey(key, "ringback key id")).toString("hex", 0, ID_BYTES);
}

/** Derives the key for a use, so that nothing made for one use is valid for another. */
export function deriveKey(key: Uint8Array, use: string): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", key, "", use, DERIVED_BYTES));
}

// The uses. Their names are part of the derivation, so they never change.

export const CURSOR_USE = "ringback cursor";

export function cookieUse(name: "flash" | "devices" | "tokens" | "company sign-in"): string {
	return `ringback ${name}`;
}

/** Returns the use of the click IDs of a day. Days are counted from the first of January 1970, in UTC. */
export function clickUse(day: number): string {
	return `click ids of day ${day}, version 1`;
}
