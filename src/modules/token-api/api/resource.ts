// Calls about one resource that the path names. A call shows the resource, or changes it and answers its new
// state.

import type * as z from "zod";
import { type Result, succeed } from "#core/domain/fault.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { Db } from "#core/store/store.ts";
import { type RouteWords, route, type TokenApiDeps, type TokenCall, type TokenRoute } from "./route.ts";
import { ifUnchanged } from "./transaction.ts";

interface ResourceDefinition<Schema extends z.ZodType, Row> {
	/** Path of one resource, such as "/v1/network/partners/{partnerId}". */
	path: string;
	/** Name of the parameter in the path that has the id. */
	id: string;
	noun: string;
	schema: Schema;
	find(db: Db, publicId: string): Promise<Result<Row>>;
	show(db: Db, row: Row): Promise<z.output<Schema>>;
}

type Words = Omit<RouteWords, "path" | "right">;

interface ChangeDefinition<Row, Body extends z.ZodObject> extends Words {
	/** Method and rest of the path. Default: "PATCH" of the resource itself. */
	at?: `${"PATCH" | "POST" | "DELETE"} /${string}`;
	body?: Body;
	sample?: z.input<Body>;
	/** Runs the use case. The holder's change is refused if the resource is not the one that If-Match names. */
	change(
		row: Row,
		call: TokenCall<unknown, z.output<Body>>,
		deps: TokenApiDeps,
		holder: TokenHolder,
	): Promise<Result<unknown>>;
}

export function resource<Schema extends z.ZodType, Row>({
	path,
	id,
	noun,
	schema,
	find,
	show,
}: ResourceDefinition<Schema, Row>) {
	async function read(db: Db, publicId: string): Promise<Result<z.output<Schema>>> {
		const found = await find(db, publicId);
		return found.ok ? succeed(await show(db, found.value)) : found;
	}

	async function answer(db: Db, publicId: string) {
		const shown = await read(db, publicId);
		return shown.ok ? succeed({ body: shown.value }) : shown;
	}

	return {
		read,

		show(words: Words): TokenRoute {
			return route({
				...words,
				method: "GET",
				path,
				right: "read",
				isResource: true,
				answer: { description: `The ${noun}.`, schema },
				faults: ["resource"],
				handle: (call, { store }) => answer(store.db, call.path[id] ?? ""),
			});
		},

		change<Body extends z.ZodObject = z.ZodObject<Record<never, never>>>({
			at = "PATCH /",
			change,
			faults = [],
			...words
		}: ChangeDefinition<Row, Body>): TokenRoute {
			const [method, rest] = at.split(" ") as ["PATCH" | "POST" | "DELETE", string];
			return route<z.ZodObject, Body, Schema>({
				...words,
				method,
				path: rest === "/" ? path : `${path}${rest}`,
				right: "manage",
				isResource: true,
				answer: { description: `The ${noun} as it is now.`, schema },
				faults: [...faults, "resource", "precondition", "value"],
				async handle(call, deps) {
					const { db } = deps.store;
					const publicId = call.path[id] ?? "";
					const found = await find(db, publicId);
					if (!found.ok) return found;
					const holder = ifUnchanged(call, async (trx) => {
						const shown = await read(trx, publicId);
						return shown.ok ? shown.value : null;
					});
					const changed = await change(found.value, call, deps, holder);
					return changed.ok ? answer(db, publicId) : changed;
				},
			});
		},
	};
}
