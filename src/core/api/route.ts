// Defines the form of every call of the API. The file of a call contains its address, its words, its schemas and its
// handler. The core and each module have a table of such calls, and site-modules.ts joins them. The routing, the
// OpenAPI document, the tables in docs/ and the tests of rights are derived from the joined table.

import type * as z from "zod";
import type { TokenRight } from "../domain/api-token.ts";
import type { ApiFaultCode, FaultKind } from "../domain/fault.ts";
import type { AppDeps } from "./deps.ts";
import type { CodeSample } from "./openapi/specification.ts";
import type { Endpoint } from "./signed-call.ts";

declare module "zod" {
	/** Makes the compiler check that the examples of a schema have the type of the schema. */
	interface GlobalMeta {
		examples?: z.$output[];
	}
}

/** Description of a call for its callers. */
export interface DescribedCall {
	method: "GET" | "POST" | "PATCH" | "DELETE";
	/** Path with its parameters in braces, such as "/v1/conversions/{id}". */
	path: string;
	/** Descriptions of the parameters in the path. A parameter that is not listed is described by its name. */
	pathParameters?: Readonly<Record<string, { description: string; example: string }>>;
	/** Heading under which the reference lists the call. */
	tag: string;
	/** Name of the call in clients that are generated from the document. It must never change. */
	operationId: string;
	summary: string;
	description: string;
	query?: z.ZodObject;
	/** Query of the example request, such as "limit=50". The default is no query. */
	sampleQuery?: string;
	body?: z.ZodObject;
	/** Body of the example request. By default this is composed from the examples of the required fields. */
	sample?: object;
	/** Answers to accepted requests, by HTTP status. */
	answers: Readonly<Record<number, AnswerForm>>;
	/** Kinds of faults with which the call can be refused, besides those of every call by this kind of caller. */
	faults: readonly Exclude<FaultKind, "inbound log">[];
}

export interface AnswerForm {
	description: string;
	/** Media type of the body; JSON by default. */
	mediaType?: string;
	/** Schema of the body, or undefined if the answer has no body or if no schema can describe it. */
	schema?: z.ZodType;
	/** Example of the body. By default this is composed from the examples of the fields. */
	example?: unknown;
	/** Schemas to which the description refers by their names. */
	mentions?: readonly z.ZodType[];
}

/** Describes a JSON answer. The compiler checks that the example has the type of the schema. */
export function answer<Schema extends z.ZodType>(
	description: string,
	schema: Schema,
	example?: z.output<Schema>,
): AnswerForm {
	return { description, schema, example };
}

/** A call of the signed API, which the server of a shop makes. */
export interface SignedRoute extends DescribedCall {
	caller: "shop";
	method: "GET" | "POST";
	/** Returns the endpoint. An app calls this once. */
	plan(deps: AppDeps): Endpoint;
}

/** Description of a call with a token of the network or of a partner. token-api adds the handler. */
export interface TokenCallDescription extends DescribedCall {
	caller: "token";
	right: TokenRight;
	/**
	 * True if the answer is one resource. Such an answer has an ETag, with which the caller can ask whether the resource
	 * has changed (If-None-Match), or demand that it has not (If-Match).
	 */
	isResource: boolean;
}

/** A call that everybody can make. app.ts mounts these calls, because each is served in its own way. */
export interface PublicCall extends DescribedCall {
	caller: "anyone";
	/** Codes with which the call can be refused. */
	codes?: readonly ApiFaultCode[];
	/** Returns a sample of the call for the service at this address. */
	writeSample?(publicUrl: string): CodeSample;
}

export type ApiCall = Omit<SignedRoute, "plan"> | TokenCallDescription | PublicCall;

/** Returns the names of the parameters in the path of a call. */
export function pathNames({ path }: Pick<DescribedCall, "path">): string[] {
	return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Returns the path in the notation of Hono, such as "/v1/conversions/:id". */
export function honoPath({ path }: Pick<DescribedCall, "path">): string {
	return path.replace(/\{(\w+)\}/g, ":$1");
}
