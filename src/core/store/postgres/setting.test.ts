import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { splitHosts } from "./setting.ts";

test("an address with several hosts becomes one for each host, without the parameter that pg does not know", () => {
	for (const [text, expected] of [
		["postgres://u:p@one/db", ["postgres://u:p@one/db"]],
		["postgresql://one:5433", ["postgresql://one:5433"]],
		["postgres://u:p%40q@one:1,two:2/db", ["postgres://u:p%40q@one:1/db", "postgres://u:p%40q@two:2/db"]],
		[
			"postgres://u@[::1]:1,10.0.0.2/db?target_session_attrs=read-write&sslmode=verify-full",
			["postgres://u@[::1]:1/db?sslmode=verify-full", "postgres://u@10.0.0.2/db?sslmode=verify-full"],
		],
		[
			"postgres://one,two/db?sslmode=verify-full&target_session_attrs=primary",
			["postgres://one/db?sslmode=verify-full", "postgres://two/db?sslmode=verify-full"],
		],
		["postgres:///db?host=/run/postgresql", ["postgres:///db?host=/run/postgresql"]],
	] as const) {
		deepEqual(splitHosts(text), expected, text);
	}
});

test("an address without a host in a list, with a bad port or for reading only is refused", () => {
	for (const text of [
		"mysql://one/db",
		"postgres:one",
		"postgres://one,/db",
		"postgres://one:99999,two/db",
		"postgres://one,two/db?target_session_attrs=standby",
		"postgres://one,two/db?target_session_attrs=any",
	]) {
		equal(splitHosts(text), undefined, text);
	}
});
