// Checks whether a request or an answer matches the OpenAPI document. Ajv, which is independent of our own
// code, makes the checks.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type {
	ApiResponse,
	HttpMethod,
	JsonSchema,
	MediaType,
	OpenApiDocument,
	Operation,
	Parameter,
} from "#core/api/openapi/specification.ts";

export interface DescribedOperation {
	operation: Operation;
	parameters: readonly Parameter[];
	pathValues: Readonly<Record<string, string>>;
}

export class DescribedApi {
	readonly document: OpenApiDocument;
	readonly #ajv: Ajv2020;
	readonly #compiled = new Map<JsonSchema, ValidateFunction>();

	constructor(document: OpenApiDocument) {
		this.document = document;
		// Ajv is strict, because a misspelt keyword would otherwise check nothing.
		this.#ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
		addFormats.default(this.#ajv);
		this.#ajv.addVocabulary(["components"]);
	}

	/** Returns the problems of a value in words, or an empty list if the value is valid. */
	flaws(schema: JsonSchema, value: unknown): string[] {
		let validate = this.#compiled.get(schema);
		if (validate === undefined) {
			validate = this.#ajv.compile({ ...schema, components: this.document.components });
			this.#compiled.set(schema, validate);
		}
		if (validate(value)) return [];
		return (validate.errors ?? []).map(
			({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
		);
	}

	schemaNamed(name: string): JsonSchema {
		const schema = this.document.components.schemas[name];
		if (schema === undefined) throw new Error(`the document has no schema ${name}`);
		return schema;
	}

	/** Returns the operation for a request, or undefined if the document does not have it. */
	find(method: string, pathname: string): DescribedOperation | undefined {
		for (const [template, item] of Object.entries(this.document.paths)) {
			const pattern = template.replace(/[.]/g, "\\.").replace(/\{(\w+)\}/g, "(?<$1>[^/]+?)");
			const match = new RegExp(`^${pattern}$`).exec(pathname);
			const operation = match === null ? undefined : item[method.toLowerCase() as HttpMethod];
			if (operation === undefined) continue;
			return { operation, parameters: operation.parameters ?? [], pathValues: { ...match?.groups } };
		}
		return undefined;
	}

	/** Returns the problems in the form of a request for this operation. */
	requestFlaws({ operation, parameters }: DescribedOperation, url: URL, body: Uint8Array): string[] {
		const flaws = parameters
			.filter((parameter) => parameter.in === "query")
			.flatMap((parameter) => this.#parameterFlaws(parameter, url.searchParams.getAll(parameter.name)));
		const known = parameters.map(({ name }) => name);
		// The pixel ignores unknown parameters, and its description says so.
		const isOpen = operation.operationId === "loadPixel";
		const unknown = isOpen ? [] : [...url.searchParams.keys()].filter((name) => !known.includes(name));
		flaws.push(...unknown.map((name) => `?${name} is not described`));
		const schema = operation.requestBody?.content["application/json"]?.schema;
		if (schema !== undefined) flaws.push(...this.#bodyFlaws(schema, body));
		return flaws;
	}

	#parameterFlaws({ name, required, schema }: Parameter, values: readonly string[]): string[] {
		const [value] = values;
		if (values.length > 1) return [`?${name} is there twice`];
		if (value === undefined) return required ? [`?${name} is missing`] : [];
		const isNumber = schema.type === "integer" && /^\d+$/.test(value);
		return this.flaws(schema, isNumber ? Number(value) : value).map((flaw) => `?${name} ${flaw}`);
	}

	#bodyFlaws(schema: JsonSchema, body: Uint8Array): string[] {
		try {
			const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
			return this.flaws(schema, JSON.parse(text));
		} catch {
			return ["the body is not JSON"];
		}
	}
}

/** Finds the response for a status. An exact status comes before its range. */
export function responseFor(operation: Operation, status: number): ApiResponse | undefined {
	return operation.responses[String(status)] ?? operation.responses[`${Math.floor(status / 100)}XX`];
}

export function mediaTypeOf(response: ApiResponse, contentType: string | null): MediaType | undefined {
	return response.content?.[(contentType ?? "").split(";")[0]?.trim() ?? ""];
}
