//! The programs chain, compute and experts of benchmarks/approx_speed.py on DAM: a context for each of our units.
//!
//! Usage: peer (chain | compute | experts) TOKENS [TARGETS], as benchmarks/dam_speed.py calls it: one worker, and DAM's
//! own inference of channels. TARGETS is a file with an expert for each token, or for more. Prints cycles of the run.

use dam::context_tools::*;
use dam::simulation::*;
use dam::structures::TimeManager;
use dam::utility_contexts::FunctionContext;

/// Slots of a channel, as on our fabric.
const DEPTH: usize = 2;
/// Of an addition.
const INTERVAL: u64 = 8;
const LATENCY: u64 = 9;
const UNITS: usize = 100;
const ADDITIONS: usize = 20;
const EXPERTS: usize = 16;
const REPEATS: usize = 4;

type Input = Receiver<u32>;
type Output = Sender<u32>;

/// A context that is `run`; when it returns, its channels are closed.
fn unit<'a>(
    program: &mut ProgramBuilder<'a>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    run: impl FnOnce(&TimeManager, &[Input], &[Output]) + Send + Sync + 'a,
) {
    let mut context = FunctionContext::new();
    inputs.iter().for_each(|each| each.attach_receiver(&context));
    outputs.iter().for_each(|each| each.attach_sender(&context));
    context.set_run(move |time: &mut TimeManager| run(time, &inputs, &outputs));
    program.add_child(context);
}

fn channels(program: &mut ProgramBuilder, count: usize) -> (Vec<Output>, Vec<Input>) {
    (0..count).map(|_| program.bounded(DEPTH)).unzip()
}

fn put(time: &TimeManager, output: &Output, value: u32, latency: u64) {
    let at = time.tick() + latency;
    output.enqueue(time, ChannelElement::new(at, value)).unwrap();
}

fn source(program: &mut ProgramBuilder, values: Vec<u32>) -> Input {
    let (mut outputs, mut inputs) = channels(program, 1);
    unit(program, vec![], vec![outputs.remove(0)], move |time, _, outputs| {
        for value in values {
            put(time, &outputs[0], value, 0);
            time.incr_cycles(1);
        }
    });
    inputs.remove(0)
}

fn sink(program: &mut ProgramBuilder, input: Input) {
    unit(program, vec![input], vec![], |time, inputs, _| {
        while inputs[0].dequeue(time).is_ok() {
            time.incr_cycles(1);
        }
    });
}

/// Every value goes to `count` readers.
fn broadcast(program: &mut ProgramBuilder, input: Input, count: usize) -> Vec<Input> {
    let (outputs, readers) = channels(program, count);
    unit(program, vec![input], outputs, |time, inputs, outputs| {
        while let Ok(element) = inputs[0].dequeue(time) {
            outputs.iter().for_each(|each| put(time, each, element.data, 0));
            time.incr_cycles(1);
        }
    });
    readers
}

/// A function of one or two operands, every `interval` cycles.
fn map(program: &mut ProgramBuilder, operands: Vec<Input>, interval: u64, latency: u64) -> Input {
    let (outputs, mut readers) = channels(program, 1);
    unit(program, operands, outputs, move |time, inputs, outputs| {
        while let Ok(element) = inputs[0].dequeue(time) {
            inputs[1..].iter().for_each(|each| {
                each.dequeue(time).unwrap();
            });
            put(time, &outputs[0], element.data, latency);
            time.incr_cycles(interval);
        }
    });
    readers.remove(0)
}

/// Values to the outputs that `which` says.
fn partition(program: &mut ProgramBuilder, input: Input, which: Input) -> Vec<Input> {
    let (outputs, readers) = channels(program, EXPERTS);
    unit(program, vec![input, which], outputs, |time, inputs, outputs| {
        while let Ok(target) = inputs[1].dequeue(time) {
            let element = inputs[0].dequeue(time).unwrap();
            put(time, &outputs[target.data as usize], element.data, 0);
            time.incr_cycles(1);
        }
    });
    readers
}

/// Every value several times; the last one is marked as a stop.
fn repeat(program: &mut ProgramBuilder, input: Input) -> Input {
    let (outputs, mut readers) = channels(program, 1);
    unit(program, vec![input], outputs, |time, inputs, outputs| {
        while inputs[0].dequeue(time).is_ok() {
            for number in 1..=REPEATS {
                put(time, &outputs[0], (number == REPEATS) as u32, 0);
                time.incr_cycles(1);
            }
        }
    });
    readers.remove(0)
}

/// One value for all up to a stop.
fn reduce(program: &mut ProgramBuilder, input: Input) -> Input {
    let (outputs, mut readers) = channels(program, 1);
    unit(program, vec![input], outputs, |time, inputs, outputs| {
        while let Ok(element) = inputs[0].dequeue(time) {
            if element.data == 1 {
                put(time, &outputs[0], 0, 0);
            }
            time.incr_cycles(1);
        }
    });
    readers.remove(0)
}

/// Values of the inputs that `which`, the last of `inputs`, says.
fn reassemble(program: &mut ProgramBuilder, inputs: Vec<Input>) -> Input {
    let (outputs, mut readers) = channels(program, 1);
    unit(program, inputs, outputs, |time, inputs, outputs| {
        while let Ok(target) = inputs[EXPERTS].dequeue(time) {
            let element = inputs[target.data as usize].dequeue(time).unwrap();
            put(time, &outputs[0], element.data, 0);
            time.incr_cycles(1);
        }
    });
    readers.remove(0)
}

fn experts(program: &mut ProgramBuilder, tokens: usize, targets: Vec<u32>) -> Input {
    let x = source(program, vec![0; tokens]);
    let which = source(program, targets);
    let mut which = broadcast(program, which, 2);
    let mut results: Vec<Input> = vec![];
    for part in partition(program, x, which.remove(0)) {
        let row = map(program, vec![part], 1, 0);
        let repeated = repeat(program, row);
        let both = broadcast(program, repeated, 2);
        let sum = map(program, both, INTERVAL, LATENCY);
        results.push(reduce(program, sum));
    }
    results.push(which.remove(0));
    reassemble(program, results)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let tokens: usize = arguments[2].parse().expect("TOKENS must be a number");
    let mut program = ProgramBuilder::default();
    let result = match arguments[1].as_str() {
        "chain" => (0..UNITS).fold(source(&mut program, vec![0; tokens]), |x, _| map(&mut program, vec![x], 1, 0)),
        "compute" => (0..ADDITIONS).fold(source(&mut program, vec![0; tokens]), |x, _| {
            let both = broadcast(&mut program, x, 2);
            map(&mut program, both, INTERVAL, LATENCY)
        }),
        "experts" => {
            let file = std::fs::read_to_string(&arguments[3]).expect("TARGETS must be a file");
            let targets = file.split_whitespace().take(tokens).map(|each| each.parse().unwrap()).collect();
            experts(&mut program, tokens, targets)
        }
        other => panic!("there is no program {other:?}"),
    };
    sink(&mut program, result);
    let options = InitializationOptionsBuilder::default().run_flavor_inference(true).build().unwrap();
    let one = RunOptionsBuilder::default().mode(RunMode::Constrained(1)).build().unwrap();
    let run = program.initialize(options).unwrap().run(one);
    assert!(run.passed());
    println!("{}", run.elapsed_cycles().unwrap());
}
