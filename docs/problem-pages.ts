// The Markdown of the pages below /problems. Meanings come from src/core/domain/fault-catalogue.ts, causes and cures from
// docs/problems.md.

import {
	EXPLAINED_CODES,
	type ExplainedCode,
	exampleFault,
	explainFault,
	isTokenFault,
	problemBody,
	titleOfFault,
} from "#core/domain/fault.ts";
import { API_REFERENCE_PATH, PROBLEMS_PATH, problemPath } from "#core/web/paths.ts";
import { fence, table } from "./markdown-text.ts";
import { readSource } from "./source-files.ts";

export interface Advice {
	/** The causes as a numbered list, or nothing if the meaning of the code says them. */
	causes: string;
	/** The cure, as a list of steps. */
	cure: string;
	/** A paragraph about sending the request again. */
	retry: string;
}

const USUAL_RETRY =
	"Do not repeat it unchanged: the answer stays the same. Correct it, then sign it again (new timestamp, new nonce, new signature) and send it. Nothing of the refused request was stored.";

const USUAL_TOKEN_RETRY =
	"Do not repeat it unchanged: the answer stays the same. Correct it and send it again. Nothing of the refused call was stored.";

/** A section of the file is about one code, or about several with commas between them. */
const ADVICE: ReadonlyMap<string, Advice> = new Map(
	readSource("docs/problems.md")
		.split("\n## ")
		.slice(1)
		.flatMap((section) => {
			const [codes = "", ...parts] = section.trim().split("\n\n");
			const [causes = "", cure = "", retry = ""] = parts[0]?.startsWith("1. ") ? parts : ["", ...parts];
			return codes.split(", ").map((code): [string, Advice] => [code, { causes, cure, retry }]);
		}),
);

export function adviceOn(code: ExplainedCode): Advice {
	const advice = ADVICE.get(code);
	if (advice === undefined) throw new Error(`docs/problems.md has no section ${code}`);
	const usualRetry = isTokenFault(code) ? USUAL_TOKEN_RETRY : USUAL_RETRY;
	return { ...advice, retry: advice.retry === "" ? usualRetry : advice.retry };
}

/** Writes the page of one code. */
export function writeProblem(code: ExplainedCode): string {
	const { causes, cure, retry } = adviceOn(code);
	return `# ${titleOfFault(code)}

\`${code}\`, ${statusWords(code)}

${explainFault(code).meaning}

${writeExample(code)}

${causes === "" ? "" : `## Likely causes\n\n${causes}\n\n`}## What to do

${cure}

## Sending it again

${retry}

${isTokenFault(code) ? "" : "The refused call is also in your inbound log, under Integration → *Inbound log*, with this code and the same sentence. "}[All problems](${PROBLEMS_PATH})`;
}

function writeExample(code: ExplainedCode): string {
	const fault = exampleFault(code, "Service");
	if (code === "pixel_limited") {
		return `## In the inbound log

The customer's browser gets the image with HTTP 200, as always. The log has one row for the minute:

${fence("", fault.detail)}`;
	}
	const body = problemBody({ publicUrl: "https://ringback.example" }, fault);
	return `## Example answer

Sent as \`application/problem+json\`. Let your code decide by \`code\`; \`detail\` is for people and says what is wrong with this very request.

${fence("json", JSON.stringify(body, null, 2))}`;
}

/** The browser of a refused pixel call gets its image with HTTP 200. */
function statusWords(code: ExplainedCode): string {
	return code === "pixel_limited" ? "Inbound log only" : `HTTP ${explainFault(code).status}`;
}

/** Writes the list of all codes, by HTTP status. */
export function writeProblemList(): string {
	const codesByStatus = [...Map.groupBy(EXPLAINED_CODES, statusWords)].sort(([one], [other]) =>
		one.localeCompare(other),
	);
	const tables = codesByStatus.flatMap(([status, codes]) => [
		`## ${status}`,
		table(["Code", "Meaning, and what to do"], codes.map(writeRow)),
	]);
	const introduction = `When the API refuses a request, its answer has a \`code\`. Here is what each code means, why it is answered and what to do. Codes never change their meaning. The calls themselves are in the [API reference](${API_REFERENCE_PATH}).`;
	return ["# Problems", introduction, ...tables].join("\n\n");
}

function writeRow(code: ExplainedCode): string[] {
	const [firstStep = ""] = adviceOn(code).cure.split("\n");
	return [
		`[\`${code}\`](${problemPath(code)})`,
		`${explainFault(code).meaning} ${firstStep.replace(/^- /, "")}`,
	];
}
