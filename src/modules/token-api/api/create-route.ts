// A call that creates something, at most once for each reference of the caller.

import * as z from "zod";
import { type Result, succeed } from "#core/domain/fault.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import { REFERENCE } from "./fields.ts";
import { type RouteWords, route, type TokenApiDeps, type TokenCall, type TokenRoute } from "./route.ts";
import { createOnce } from "./transaction.ts";

/** The resource that a call creates, after the fields of the call were checked. */
export interface Creation<Created, Shown> {
	/** Name under which references are stored. Default: the operationId. */
	kind?: string;
	/** Values of the body in the form in which they are stored, if callers may spell them in several ways. */
	values?: object;
	/** Runs the use case with the given actor, in one transaction. */
	create(holder: TokenHolder): Promise<Result<Created>>;
	idOf(created: Created): string;
	/** Returns the answer. `created` is null if an earlier call with the same reference created the resource. */
	show(id: string, created: Created | null): Result<Shown> | Promise<Result<Shown>>;
}

/** Returns its argument, so that the compiler infers the type `Created` from `create`. */
export function creation<Created, Shown>(
	form: Creation<Created, Shown>,
): { ok: true; value: Creation<Created, Shown> } {
	return { ok: true, value: form };
}

interface CreateDefinition<Fields extends z.ZodRawShape, Answer extends z.ZodType> extends RouteWords {
	/** Fields of the body besides the reference. */
	fields: Fields;
	sample?: z.input<z.ZodObject<Fields>> & { reference?: string };
	answer: { description: string; schema: Answer; example?: z.output<Answer> };
	open(
		call: TokenCall<unknown, z.output<z.ZodObject<Fields>>>,
		deps: TokenApiDeps,
	): Promise<Result<Creation<unknown, z.output<Answer>>>>;
}

export function create<Fields extends z.ZodRawShape, Answer extends z.ZodType>({
	fields,
	open,
	faults = [],
	sample,
	...words
}: CreateDefinition<Fields, Answer>): TokenRoute {
	const schema: z.ZodObject = z.strictObject({ reference: REFERENCE, ...fields });
	return route({
		...words,
		method: "POST",
		body: schema,
		...(sample === undefined ? {} : { sample }),
		creates: true,
		faults: [...faults, "reference", "value"],
		async handle(call, deps) {
			// The casts are safe, because the schema above has these fields and the reference.
			const { reference: _, ...body } = call.body;
			const opened = await open({ ...call, body: body as z.output<z.ZodObject<Fields>> }, deps);
			if (!opened.ok) return opened;
			const { kind = words.operationId, show, ...form } = opened.value;
			const made = await createOnce(deps, call as TokenCall<unknown, { reference?: string }>, kind, form);
			if (!made.ok) return made;
			const shown = await show(made.value.id, made.value.result);
			return shown.ok ? succeed({ body: shown.value, isNew: made.value.result !== null }) : shown;
		},
	});
}
