// The sealing keys that a process knows. New values are sealed with one of them. While the sealing key is being
// replaced, values that the former key sealed can still be opened, so that no process meets a value that it cannot
// read. docs/decisions/sealing-key.md describes the replacement.
//
// Click IDs, cookies and cursors each use a key that is derived from the sealing key. They are outside the database
// and cannot be sealed again. For some of them the key that was derived from the former sealing key is therefore
// stored, sealed by the present one.

import { hkdfSync } from "node:crypto";

const DERIVED_BYTES = 32;
const ID_BYTES = 8;
/**
 * Maximum number of derived keys in memory. Each day has its own key for click IDs, and the longest click window has
 * fewer days than this.
 */
const MAX_DERIVED = 1_000;

/** Derived keys of former sealing keys, by use. */
export type KeptKeys = ReadonlyMap<string, readonly Uint8Array[]>;

/** Part of the database's state that says which keys are in use. */
export interface KeyUse {
	/** Id of the key that seals, or null if nothing was sealed in this database yet. */
	presentId: string | null;
	/** Id of the key that sealed before, or null. No keys are derived from the former key any more. */
	formerId: string | null;
	kept: KeptKeys;
}

export interface KeyRing {
	/** Keys that open stored values. The key that seals comes first. */
	readonly keys: readonly Uint8Array[];
	/** Ids of the keys in `keys`, in the same order. */
	readonly ids: readonly string[];
	/** Number that changes whenever the derived keys may have changed. */
	readonly version: number;
	/** State of the database that `follow` adopted last. */
	readonly use: KeyUse;
	find(id: string): Uint8Array | undefined;
	/**
	 * Returns the derived keys for a use. The first key is for new texts. To verify or open an existing text, try all
	 * keys.
	 */
	derive(use: string): readonly [Uint8Array, ...Uint8Array[]];
	/** Adopts the keys in use that the database names. */
	follow(use: KeyUse): void;
	/** Reads the keys again from their source, such as a file. Keys that are in use stay known. */
	reload(): void;
}

/**
 * Creates a key ring. `keys` must not be empty, and its first key seals until `follow` names another one. `read`
 * returns the present keys, for a process whose keys are in files.
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
			// A key that was removed from its file may still be needed for a row that was read a moment ago.
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

// Uses of derived keys. Their names are part of the derivation, so they must never change.

export const CURSOR_USE = "ringback cursor";

export function cookieUse(name: "flash" | "devices" | "tokens" | "company sign-in"): string {
	return `ringback ${name}`;
}

/** Returns the name of the use "click IDs of a day". Days are counted from 1 January 1970 in UTC. */
export function clickUse(day: number): string {
	return `click ids of day ${day}, version 1`;
}
