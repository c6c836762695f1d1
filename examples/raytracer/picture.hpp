// Pictures as files.
#pragma once

#include <string>

#include "render.hpp"

namespace raytracer {

/// FOLDER/frame-007.ppm, with 8 bits a colour. False if it cannot be written.
[[nodiscard]] bool write_picture(const std::string& folder, int frame, Size size,
                                 const Image& image);

/// The largest difference of a number in a pixel; images are of one size.
[[nodiscard]] float difference(const Image& one, const Image& other);

}  // namespace raytracer
