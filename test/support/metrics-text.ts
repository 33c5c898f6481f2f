// What /metrics answers, as a test asks for it.

export interface Scrape {
	text: string;
	/** By name: its type. */
	families: ReadonlyMap<string, string>;
	/** By name with labels, as it is written. */
	find(sample: string): number | undefined;
	value(sample: string): number;
}

export function readMetricsText(text: string): Scrape {
	const lines = text.split("\n");
	const types = lines.flatMap((line) => {
		const [, name, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
		return name === undefined || type === undefined ? [] : [[name, type] as const];
	});
	const find = (sample: string): number | undefined => {
		const line = lines.find((one) => one.startsWith(`${sample} `));
		return line === undefined ? undefined : Number(line.slice(sample.length + 1));
	};
	return {
		text,
		families: new Map(types),
		find,
		value(sample) {
			const found = find(sample);
			if (found === undefined) throw new Error(`/metrics does not say ${sample}`);
			return found;
		},
	};
}
