// Types for the parts of OpenAPI 3.1 that Ringback's own description uses.

export interface OpenApiDocument {
	openapi: "3.1.1";
	info: { title: string; version: string; summary: string; description: string };
	servers: readonly { url: string; description: string }[];
	tags: readonly ApiTag[];
	paths: Readonly<Record<string, PathItem>>;
	webhooks: Readonly<Record<string, Webhook>>;
	components: {
		schemas: Readonly<Record<string, JsonSchema>>;
		securitySchemes: Readonly<Record<string, SecurityScheme>>;
	};
}

/** A heading under which the reference lists calls. */
export interface ApiTag {
	name: string;
	description: string;
}

export type HttpMethod = "get" | "post" | "patch" | "delete";
export type PathItem = Readonly<Partial<Record<HttpMethod, Operation>>>;

/** A request of the service to a receiver. Partners may choose GET instead of POST. */
export type Webhook = Readonly<{ post: Operation; get?: Operation }>;

export interface Operation {
	operationId: string;
	summary: string;
	description: string;
	tags: readonly string[];
	/** Credentials that the operation requires. The list is empty if everybody may call it. */
	security: readonly Readonly<Record<string, readonly string[]>>[];
	parameters?: readonly Parameter[];
	requestBody?: { required: true; description?: string; content: Readonly<Record<string, MediaType>> };
	responses: Readonly<Record<string, ApiResponse>>;
	/** Complete requests with their signatures, so that authors of clients can compare their own requests with them. */
	"x-codeSamples"?: readonly CodeSample[];
}

export interface CodeSample {
	lang: string;
	label: string;
	source: string;
}

export interface Parameter {
	name: string;
	in: "path" | "query" | "header";
	required: boolean;
	description: string;
	schema: JsonSchema;
	example?: unknown;
}

export interface ApiResponse {
	description: string;
	headers?: Readonly<Record<string, { description: string; required: boolean; schema: JsonSchema }>>;
	content?: Readonly<Record<string, MediaType>>;
}

export interface MediaType {
	schema?: JsonSchema;
	examples?: Readonly<Record<string, { summary?: string; value: unknown }>>;
}

/** JSON Schema 2020-12. Only the keywords that this code or its tests read are named. */
export interface JsonSchema {
	readonly [keyword: string]: unknown;
	$ref?: string;
	type?: string | readonly string[];
	description?: string;
	properties?: Readonly<Record<string, JsonSchema>>;
	required?: readonly string[];
	additionalProperties?: boolean;
	items?: JsonSchema;
	oneOf?: readonly JsonSchema[];
	allOf?: readonly JsonSchema[];
	anyOf?: readonly JsonSchema[];
	enum?: readonly unknown[];
	examples?: readonly unknown[];
}

export interface SecurityScheme {
	type: "http" | "apiKey";
	description: string;
	scheme?: "bearer";
	in?: "header";
	name?: string;
}
