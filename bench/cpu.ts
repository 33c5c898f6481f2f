// Processor time of this process per delivery: steadier than the clock on a machine with other work.

export function cpuPer(deliveries: number): { userMicros: number; systemMicros: number } {
	const { user, system } = process.cpuUsage();
	return { userMicros: round(user / deliveries), systemMicros: round(system / deliveries) };
}

function round(micros: number): number {
	return Math.round(micros * 10) / 10;
}
