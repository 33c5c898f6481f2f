import { deepEqual, equal, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, settle } from "../../test/support/clock.ts";
import { createCachedValue, createKeyedCache } from "./cached-value.ts";

const FRESH_MS = 1_000;

/** Returns a cache. By default, a loaded value is the number of loads so far. */
function setUp(maxEntries = 10, load?: (key: string) => Promise<number | undefined>) {
	const clock = createClock();
	const loads: string[] = [];
	const cache = createKeyedCache<string, number>({
		clock,
		freshForMs: FRESH_MS,
		maxEntries,
		async load(key) {
			loads.push(key);
			return load === undefined ? loads.length : load(key);
		},
	});
	return { clock, cache, loads };
}

describe("a keyed cache", () => {
	test("loads a value once while it is fresh, and again from the given age on", async () => {
		const { clock, cache, loads } = setUp();
		equal(await cache.get("a"), 1);
		await clock.moveBy(FRESH_MS - 1);
		equal(await cache.get("a"), 1);
		await clock.moveBy(1);
		equal(await cache.get("a"), 2);
		deepEqual(loads, ["a", "a"]);
	});

	test("measures the age from the start of the load, because the value may have been read then", async () => {
		const gate = Promise.withResolvers<number>();
		const { clock, cache, loads } = setUp(10, () => gate.promise);
		const first = cache.get("a");
		await clock.moveBy(FRESH_MS);
		const second = cache.get("a");
		gate.resolve(1);
		deepEqual([await first, await second], [1, 1]);
		equal(loads.length, 2);
	});

	test("shares one load between readers of the same key", async () => {
		const { cache, loads } = setUp();
		deepEqual(await Promise.all([cache.get("a"), cache.get("a"), cache.get("b")]), [1, 1, 2]);
		deepEqual(loads, ["a", "b"]);
	});

	test("caches neither a failed load nor a missing value", async () => {
		const { cache, loads } = setUp(10, async (key) => {
			if (key === "broken") throw new Error("no database");
			return undefined;
		});
		for (let time = 0; time < 2; time++) {
			await rejects(cache.get("broken"), /no database/);
			equal(await cache.get("missing"), undefined);
		}
		deepEqual(loads, ["broken", "missing", "broken", "missing"]);
	});

	test("a late failure does not remove the value of a newer load", async () => {
		const gates = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
		let count = 0;
		const { cache, loads } = setUp(10, () => gates[count++]?.promise ?? Promise.resolve(3));
		const late = cache.get("a");
		cache.invalidate();
		const newer = cache.get("a");
		gates[1]?.resolve(2);
		equal(await newer, 2);
		gates[0]?.reject(new Error("late"));
		await rejects(late, /late/);
		equal(await cache.get("a"), 2);
		equal(loads.length, 2);
	});

	test("removes the value that was loaded longest ago if there are too many", async () => {
		const { cache, loads } = setUp(2);
		for (const key of ["a", "b", "c", "b", "c", "a"]) await cache.get(key);
		deepEqual(loads, ["a", "b", "c", "a"]);
	});

	test("after an invalidation nobody gets a value whose load had already started", async () => {
		const gates = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
		let count = 0;
		const { cache } = setUp(10, () => gates[count++]?.promise ?? Promise.resolve(undefined));
		const before = cache.get("a");
		cache.invalidate();
		const after = cache.get("a");
		gates[0]?.resolve(1);
		gates[1]?.resolve(2);
		deepEqual([await before, await after, await cache.get("a")], [1, 2, 2]);
	});
});

describe("a cached value", () => {
	test("is loaded only once while it is fresh, even if it is undefined, and again after an invalidation", async () => {
		const clock = createClock();
		const values = [undefined, "one", "two"];
		let loads = 0;
		const cached = createCachedValue({ clock, freshForMs: FRESH_MS, load: async () => values[loads++] });
		equal(await cached.get(), undefined);
		equal(await cached.get(), undefined);
		equal(loads, 1);
		await clock.moveBy(FRESH_MS);
		equal(await cached.get(), "one");
		cached.invalidate();
		equal(await cached.get(), "two");
		equal(loads, 3);
	});

	test("offers the last value at once, but not the value of a load that began before an invalidation", async () => {
		const clock = createClock();
		const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
		let loads = 0;
		const cached = createCachedValue({
			clock,
			freshForMs: FRESH_MS,
			load: () => gates[loads++]?.promise ?? Promise.reject(new Error("no database")),
		});
		equal(cached.latest, undefined);
		const overtaken = cached.get();
		cached.invalidate();
		const newer = cached.get();
		gates[1]?.resolve("new");
		equal(await newer, "new");
		gates[0]?.resolve("old");
		await overtaken;
		await settle();
		equal(cached.latest, "new");
		await clock.moveBy(FRESH_MS);
		await rejects(cached.get(), /no database/);
		equal(cached.latest, "new");
	});
});
