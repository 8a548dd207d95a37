//! The network: convolutions over the words of a sentence, then Viterbi decoding.

use super::bytes::floats;
use super::vectors;
use crate::entities::kind::EntityKind;

/// Shape vector length, and shapes.
const SHAPE: usize = 30;
const SHAPES: usize = 66;
/// Numbers per piece.
pub(super) const INPUT: usize = vectors::WIDTH + SHAPE;
/// Previous, current and next word.
const TAPS: usize = 3;
/// Outputs per convolution.
const WIDTHS: [usize; 3] = [256, 128, 64];

/// Whether a tag begins a name, and of which kind.
pub(super) const TAGS: [Option<(bool, EntityKind)>; 8] = [
    None,
    None,
    Some((true, EntityKind::Person)),
    Some((false, EntityKind::Person)),
    Some((true, EntityKind::Loc)),
    Some((false, EntityKind::Loc)),
    Some((true, EntityKind::Org)),
    Some((false, EntityKind::Org)),
];

pub(super) struct Network {
    /// [`SHAPES`] × [`SHAPE`].
    shapes: Vec<f32>,
    layers: Vec<Convolution>,
    /// Last layer × tags, and a bias per tag.
    projection: Vec<f32>,
    bias: Vec<f32>,
    /// From × to.
    transitions: Vec<f32>,
}

/// A convolution; negative outputs become 0, then each is scaled and shifted.
struct Convolution {
    inputs: usize,
    outputs: usize,
    /// [`TAPS`] × inputs × outputs.
    weights: Vec<f32>,
    bias: Vec<f32>,
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl Network {
    pub(super) fn read(bytes: &mut &'static [u8]) -> Option<Self> {
        let shapes = floats(bytes, SHAPES * SHAPE)?;
        let mut inputs = INPUT;
        let mut layers = Vec::with_capacity(WIDTHS.len());
        for outputs in WIDTHS {
            layers.push(Convolution {
                inputs,
                outputs,
                weights: floats(bytes, TAPS * inputs * outputs)?,
                bias: floats(bytes, outputs)?,
                scale: floats(bytes, outputs)?,
                shift: floats(bytes, outputs)?,
            });
            inputs = outputs;
        }
        let projection = floats(bytes, inputs * TAGS.len())?;
        let bias = floats(bytes, TAGS.len())?;
        Some(Self { shapes, layers, projection, bias, transitions: floats(bytes, TAGS.len() * TAGS.len())? })
    }

    pub(super) fn push_shape(&self, shape: usize, input: &mut Vec<f32>) {
        input.extend(self.shapes.iter().skip(shape * SHAPE).take(SHAPE));
    }

    /// Returns a tag per piece; `input` has [`INPUT`] numbers for each.
    pub(super) fn tags(&self, mut input: Vec<f32>) -> Vec<usize> {
        for layer in &self.layers {
            input = layer.run(&input);
        }
        let width = self.projection.len() / TAGS.len();
        let scores: Vec<[f32; TAGS.len()]> = input
            .chunks_exact(width)
            .map(|row| {
                let mut scores = [0.0; TAGS.len()];
                scores.copy_from_slice(&self.bias);
                for (value, weights) in row.iter().zip(self.projection.chunks_exact(TAGS.len())) {
                    scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += value * weight);
                }
                scores
            })
            .collect();
        self.likeliest(&scores)
    }

    /// Returns the best path (Viterbi).
    fn likeliest(&self, scores: &[[f32; TAGS.len()]]) -> Vec<usize> {
        let Some((first, rest)) = scores.split_first() else { return Vec::new() };
        let mut best = *first;
        let mut came_from: Vec<[usize; TAGS.len()]> = Vec::with_capacity(rest.len());
        for row in rest {
            let mut next = [f32::NEG_INFINITY; TAGS.len()];
            let mut from = [0; TAGS.len()];
            for ((earlier, score), onward) in best.iter().enumerate().zip(self.transitions.chunks_exact(TAGS.len())) {
                for (((sum, from), onward), own) in next.iter_mut().zip(&mut from).zip(onward).zip(row) {
                    let candidate = score + onward + own;
                    if candidate > *sum {
                        (*sum, *from) = (candidate, earlier);
                    }
                }
            }
            best = next;
            came_from.push(from);
        }
        let last = best.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(tag, _)| tag);
        let mut tags = vec![last];
        for from in came_from.iter().rev() {
            let tag = tags.last().and_then(|tag| from.get(*tag)).copied().unwrap_or_default();
            tags.push(tag);
        }
        tags.reverse();
        tags
    }
}

impl Convolution {
    /// Maps words × inputs to words × outputs; padding is 0.
    fn run(&self, input: &[f32]) -> Vec<f32> {
        let words: Vec<&[f32]> = input.chunks_exact(self.inputs).collect();
        let mut output = self.bias.repeat(words.len());
        for (tap, weights) in self.weights.chunks_exact(self.inputs * self.outputs).enumerate() {
            let rows = output.chunks_exact_mut(self.outputs);
            // Tap 0 is the previous word, tap 2 the next.
            let mut pairs: Vec<(&mut [f32], &[f32])> = match tap {
                0 => rows.skip(1).zip(words.iter().copied()).collect(),
                1 => rows.zip(words.iter().copied()).collect(),
                _ => rows.zip(words.iter().copied().skip(1)).collect(),
            };
            add(&mut pairs, weights, self.outputs);
        }
        for row in output.chunks_exact_mut(self.outputs) {
            for ((value, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                *value = value.max(0.0) * scale + shift;
            }
        }
        output
    }
}

/// Adds inputs × weights to each row. Four inputs at once load weights once and rows a quarter as often.
fn add(pairs: &mut [(&mut [f32], &[f32])], weights: &[f32], outputs: usize) {
    for (at, weights) in weights.chunks(4 * outputs).enumerate() {
        for (row, word) in pairs.iter_mut() {
            let inputs = word.get(at * 4..).unwrap_or_default();
            if let ([a, b, c, d, ..], 4) = (inputs, weights.len() / outputs) {
                let (first, second) = weights.split_at(2 * outputs);
                let ((wa, wb), (wc, wd)) = (first.split_at(outputs), second.split_at(outputs));
                for ((((value, wa), wb), wc), wd) in row.iter_mut().zip(wa).zip(wb).zip(wc).zip(wd) {
                    *value += a * wa + b * wb + c * wc + d * wd;
                }
            } else {
                for (input, weights) in inputs.iter().zip(weights.chunks_exact(outputs)) {
                    row.iter_mut().zip(weights).for_each(|(value, weight)| *value += input * weight);
                }
            }
        }
    }
}
