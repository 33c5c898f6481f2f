// The form of a call of the network's and the partners' APIs. One table of such routes (TOKEN_CALLS in site-modules.ts)
// drives the routing, the OpenAPI document and the test of rights.

import type * as z from "zod";
import type { AppDeps } from "#core/api/deps.ts";
import type { NetworkTallies } from "#core/conversions/tally.ts";
import type { TokenRight } from "#core/domain/api-token.ts";
import type { FaultKind, Result } from "#core/domain/fault.ts";
import type { MailDispatcher } from "#core/mail/dispatcher.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { FoundToken } from "#core/store/queries/api-tokens.ts";
import type { CachedSubTotals } from "#modules/partners/use-cases/sub-totals.ts";

export interface TokenApiDeps extends AppDeps {
	mails: MailDispatcher;
	/** Start of every partner link. */
	clickUrl: string;
	/** True if callbacks and links may lead to private addresses, which is a development setting. */
	allowsPrivateRanges: boolean;
	/** Totals of the network, counted in the background. */
	networkTallies: NetworkTallies;
	/** Totals of partners by day and sub id, counted in the background. */
	subTotals: CachedSubTotals;
}

/** A call whose token has the right that the route needs, and whose fields have the right form. */
export interface TokenCall<Query, Body> {
	holder: TokenHolder;
	token: Readonly<FoundToken>;
	/** Values of the parameters in the path, by name. */
	path: Readonly<Record<string, string>>;
	query: Query;
	body: Body;
	/** The header If-Match, or undefined if the caller does not care about changes by others. */
	ifMatch: string | undefined;
	nowMs: number;
}

export interface TokenAnswer<Body> {
	body: Body;
	/** True if the call created the resource, which is answered with 201. */
	isNew?: boolean;
}

/** Kinds of faults that every call with a token can be refused with. */
export const COMMON_FAULT_KINDS = [
	"token",
	"token rate",
	"fields",
	"own",
] as const satisfies readonly FaultKind[];
type CommonFaultKind = (typeof COMMON_FAULT_KINDS)[number];

interface RouteDefinition<Query extends z.ZodObject, Body extends z.ZodObject, Answer extends z.ZodType> {
	method: "GET" | "POST" | "PATCH" | "DELETE";
	/** Path with its parameters in braces, such as "/v1/network/programmes/{programmeId}". */
	path: string;
	right: TokenRight;
	operationId: string;
	summary: string;
	description: string;
	query?: Query;
	body?: Body;
	/** An example of the body. */
	sample?: z.input<Body>;
	/** Description, schema and example of the answer. */
	answers: {
		description: string;
		schema: Answer;
		example: z.output<Answer>;
	};
	/**
	 * True if the answer is one resource. It then has an ETag, with which the caller asks whether the resource has changed
	 * (If-None-Match), or makes sure that it has not (If-Match).
	 */
	isResource?: boolean;
	/** True if the call may answer 201. */
	creates?: boolean;
	/** Kinds of faults that this call can be refused with, in addition to those of every call with a token. */
	faults: readonly Exclude<FaultKind, CommonFaultKind | "inbound log">[];
	handle(
		call: TokenCall<z.output<Query>, z.output<Body>>,
		deps: TokenApiDeps,
	): Promise<Result<TokenAnswer<z.output<Answer>>>>;
}

/** A route whose types of query, body and answer are no longer known. Only `route` creates it, which checks them. */
export interface TokenRoute
	extends Omit<RouteDefinition<z.ZodObject, z.ZodObject, z.ZodType>, "handle" | "sample"> {
	sample?: object;
	handle(call: TokenCall<unknown, unknown>, deps: TokenApiDeps): Promise<Result<TokenAnswer<unknown>>>;
}

export function route<
	Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
	Body extends z.ZodObject = z.ZodObject<Record<never, never>>,
	Answer extends z.ZodType = z.ZodType,
>(definition: RouteDefinition<Query, Body, Answer>): TokenRoute {
	const { handle, ...rest } = definition;
	return {
		...(rest as Omit<TokenRoute, "handle">),
		// The cast is safe, because token-call.ts parses query and body with the schemas of this very route.
		handle: (call, deps) => handle(call as TokenCall<z.output<Query>, z.output<Body>>, deps),
	};
}

/** Returns the names of the parameters in the path of a route. */
export function pathNames({ path }: Pick<TokenRoute, "path">): string[] {
	return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Returns the path in the notation of Hono, such as "/v1/network/programmes/:programmeId". */
export function honoPath({ path }: Pick<TokenRoute, "path">): string {
	return path.replace(/\{(\w+)\}/g, ":$1");
}
